"""The publisher of the scheduler's facts. Ids derive from the trigger or plan, so publishing again has no effect."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.bus.publishing import Publish
from rota_common.bus.subject_log import SubjectLog
from rota_common.clock import Clock
from rota_common.runtime.traces import derived
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionRequestedV1
from rota_contracts.messages.robot_facts import RobotFailedV1, RobotRecoveredV1
from rota_contracts.messages.trigger import TriggerAdmittedV1, TriggerMissedV1, TriggerRejectedV1
from scheduler.domain.batch import Batch, Decided, StoredTrigger
from scheduler.domain.clock_state import MissedFact
from scheduler.domain.plan import Plan
from scheduler.domain.queue import EntryState, Refusal


@dataclass(frozen=True, kw_only=True)
class EventPublisher:
    publish: Publish
    stream: SubjectLog
    """Of execution.requested."""
    clock: Clock

    async def publish_batch(self, batch: Batch, earlier: Sequence[StoredTrigger]) -> None:
        """The decisions of a turn, and `earlier` entries: admitted by it, or whose trigger was received again."""
        new = [_stored(decided) for decided in batch.decided]
        requests = [stored for stored in [*new, *earlier] if stored.state is EntryState.ADMITTED]
        await asyncio.gather(
            *(self.publish_request(stored) for stored in requests), *(self.publish_decision(each) for each in new)
        )
        await asyncio.gather(*(self.publish_decision(each) for each in earlier if each.state is not EntryState.DONE))

    async def publish_request(self, stored: StoredTrigger, *, again: int = 0) -> None:
        """The request for an execution. Each grant of a slot is a fact of its own."""
        await self.publish(
            catalog.EXECUTION_REQUESTED,
            self._request(stored),
            caused_by=stored.trigger.trigger_id,
            step=_grant(stored),
            again=again,
            trace=stored.traceparent,
        )

    async def is_outstanding(self, stored: StoredTrigger) -> bool:
        """True while the request for this grant waits in the stream: no executor has acknowledged it."""
        request, trigger = self._request(stored), stored.trigger
        event = self.publish.event(
            catalog.EXECUTION_REQUESTED, request, caused_by=trigger.trigger_id, step=_grant(stored)
        )
        subject = catalog.EXECUTION_REQUESTED.subject(trigger.team_id, trigger.member_id)
        return await self.stream.waits(subject, event.id, durable=catalog.EXECUTION_REQUESTED.durable("executor"))

    def _request(self, stored: StoredTrigger) -> ExecutionRequestedV1:
        trigger = stored.trigger
        return ExecutionRequestedV1(
            execution_id=stored.execution_id,
            team_id=trigger.team_id,
            member_id=trigger.member_id,
            trigger=trigger,
            requested_at=self.clock(),
            grant=stored.parks,
        )

    async def publish_plan(self, plan: Plan) -> None:
        """The changes of a plan item, in order."""
        for unpublished in plan.unpublished:
            number, trace = str(unpublished.number), derived(plan.key)
            await self.publish(catalog.PLAN_CHANGED, unpublished.fact, caused_by=plan.key, step=number, trace=trace)

    async def publish_missed(self, unpublished: MissedFact) -> None:
        """Due runs of a robot's clock that are not made up for."""
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
        await self.publish(catalog.TRIGGER_MISSED, fact, caused_by=cause, step=f"{unpublished.number} {missed.first}")

    async def publish_failed(self, end: Event[ExecutionFinishedV1]) -> None:
        """A robot's run has failed after one that did not."""
        run = end.data
        fact = RobotFailedV1(
            team_id=run.team_id,
            member_id=run.member_id,
            execution_id=run.execution_id,
            message=run.error or "",
            at=run.finished_at,
        )
        await self.publish(catalog.ROBOT_FAILED, fact, caused_by=run.execution_id, trace=end.traceparent)

    async def publish_recovered(self, end: Event[ExecutionFinishedV1]) -> None:
        """A robot's run has completed after one that failed."""
        run = end.data
        fact = RobotRecoveredV1(
            team_id=run.team_id, member_id=run.member_id, execution_id=run.execution_id, at=run.finished_at
        )
        await self.publish(catalog.ROBOT_RECOVERED, fact, caused_by=run.execution_id, trace=end.traceparent)

    async def publish_decision(self, stored: StoredTrigger) -> None:
        """The decision about a trigger: admitted, or rejected and why. Published before the execution is parked."""
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
                rejected_at=self.clock(),
            )
            await self.publish(
                catalog.TRIGGER_REJECTED, rejected, caused_by=trigger.trigger_id, trace=stored.traceparent
            )
            return
        admitted = TriggerAdmittedV1(
            trigger_id=trigger.trigger_id,
            execution_id=stored.execution_id,
            team_id=trigger.team_id,
            member_id=trigger.member_id,
            type=trigger.type,
            admitted_at=self.clock(),
        )
        await self.publish(catalog.TRIGGER_ADMITTED, admitted, caused_by=trigger.trigger_id, trace=stored.traceparent)


def _grant(stored: StoredTrigger) -> str:
    return str(stored.parks) if stored.parks else ""


def _stored(decided: Decided) -> StoredTrigger:
    """The trigger as the batch with this decision stores it."""
    refusal = decided.verdict if isinstance(decided.verdict, Refusal) else None
    accepted = EntryState.ADMITTED if decided.admitted else EntryState.QUEUED
    state = EntryState.REJECTED if refusal else accepted
    return StoredTrigger(decided.execution_id, state, decided.trigger, decided.traceparent, refusal=refusal)
