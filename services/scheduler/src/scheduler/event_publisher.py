"""What the scheduler tells the others. Ids derive from the trigger or plan, so telling it twice is telling it once."""

import asyncio
from collections.abc import Sequence

from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_contracts import catalog
from rota_contracts.ids import derived_id
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionRequestedV1
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.messages.trigger import TriggerAdmittedV1, TriggerMissedV1, TriggerRejectedV1
from scheduler.clock_store import MissedFact
from scheduler.domain import EntryState, Refusal
from scheduler.plan import Plan
from scheduler.ports import Batch, StoredTrigger


class EventPublisher:
    def __init__(self, publish: Publish, clock: Clock) -> None:
        self._publish, self._clock = publish, clock

    async def publish_batch(self, batch: Batch, earlier: Sequence[StoredTrigger]) -> None:
        """What a turn decided, and `earlier` entries: admitted by it, or whose trigger came again."""
        fresh = [
            StoredTrigger(
                decided.execution_id,
                EntryState.REJECTED if isinstance(decided.verdict, Refusal) else _state(admitted=decided.admitted),
                decided.trigger,
                decided.traceparent,
                refusal=decided.verdict if isinstance(decided.verdict, Refusal) else None,
            )
            for decided in batch.decided
        ]
        requests = [stored for stored in [*fresh, *earlier] if stored.state is EntryState.ADMITTED]
        await asyncio.gather(
            *(self.publish_request(stored) for stored in requests), *(self.publish_decision(each) for each in fresh)
        )
        await asyncio.gather(*(self.publish_decision(each) for each in earlier if each.state is not EntryState.DONE))

    async def publish_request(self, stored: StoredTrigger, *, again: int = 0) -> None:
        """Each grant of a slot is a fact of its own."""
        trigger = stored.trigger
        request = ExecutionRequestedV1(
            execution_id=stored.execution_id,
            team_id=trigger.team_id,
            member_id=trigger.member_id,
            trigger=trigger,
            requested_at=self._clock(),
            grant=stored.parks,
        )
        await self._publish(
            catalog.EXECUTION_REQUESTED,
            request,
            caused_by=trigger.trigger_id,
            step=str(stored.parks) if stored.parks else "",
            again=again,
            trace=stored.traceparent,
        )

    async def publish_plan(self, plan: Plan) -> None:
        """What became of an item of the plan queue, in order."""
        for unpublished in plan.unpublished:
            await self._publish(
                catalog.PLAN_CHANGED, unpublished.fact, caused_by=plan.key, step=str(unpublished.number)
            )

    async def publish_missed(self, unpublished: MissedFact) -> None:
        """Runs that a robot's clock was due for, and that aren't made up for."""
        (team, member), missed = unpublished.key, unpublished.missed
        fact = TriggerMissedV1(
            team_id=team,
            member_id=member,
            first=missed.first,
            last=missed.last,
            count=missed.count,
            reason=missed.reason,
            message=missed.message,
            missed_at=unpublished.at,
        )
        cause = derived_id("clock", team, member)
        await self._publish(catalog.TRIGGER_MISSED, fact, caused_by=cause, step=f"{unpublished.number} {missed.first}")

    async def publish_failed(self, run: ExecutionFinishedV1) -> None:
        """A robot's run has failed, and the one before hadn't."""
        fact = RobotFailedV1(
            team_id=run.team_id,
            member_id=run.member_id,
            execution_id=run.execution_id,
            message=run.error or "",
            at=run.finished_at,
        )
        await self._publish(catalog.ROBOT_FAILED, fact, caused_by=run.execution_id)

    async def publish_recovered(self, run: ExecutionFinishedV1) -> None:
        """A robot's run has completed, after one that failed."""
        fact = RobotRecoveredV1(
            team_id=run.team_id, member_id=run.member_id, execution_id=run.execution_id, at=run.finished_at
        )
        await self._publish(catalog.ROBOT_RECOVERED, fact, caused_by=run.execution_id)

    async def publish_decision(self, stored: StoredTrigger) -> None:
        """The visible answer to a trigger: it has its place, or this is why not. Told by the time it is parked."""
        trigger = stored.trigger
        if stored.parks:
            return
        if stored.refusal is not None:
            rejected = TriggerRejectedV1(
                trigger_id=trigger.trigger_id,
                team_id=trigger.team_id,
                member_id=trigger.member_id,
                type=trigger.type,
                reason=stored.refusal.reason,
                message=stored.refusal.message,
                rejected_at=self._clock(),
            )
            await self._publish(
                catalog.TRIGGER_REJECTED, rejected, caused_by=trigger.trigger_id, trace=stored.traceparent
            )
            return
        admitted = TriggerAdmittedV1(
            trigger_id=trigger.trigger_id,
            execution_id=stored.execution_id,
            team_id=trigger.team_id,
            member_id=trigger.member_id,
            type=trigger.type,
            admitted_at=self._clock(),
        )
        await self._publish(catalog.TRIGGER_ADMITTED, admitted, caused_by=trigger.trigger_id, trace=stored.traceparent)


def _state(*, admitted: bool) -> EntryState:
    return EntryState.ADMITTED if admitted else EntryState.QUEUED
