"""A scheduler that decides and replies as the test says, over the bus in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from rota_common.bus.router import Router
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import (
    CHANGE_PLAN,
    LIST_PLANS,
    LIST_RETRYABLE,
    READ_ROBOTS,
    READ_TRIGGER,
    TRIGGER_ADMITTED,
    TRIGGER_RECEIVED,
    TRIGGER_REJECTED,
    WITHDRAW,
)
from rota_contracts.envelope import Event
from rota_contracts.ids import execution_id
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import (
    ReadTrigger,
    TriggerReply,
    TriggerState,
)
from rota_contracts.messages.plan import (
    ChangePlan,
    ChangePlanReply,
    ListPlans,
    PlanAction,
    PlanItem,
    PlanPage,
    PlanState,
)
from rota_contracts.messages.retry import ListRetryable, Retryable, RetryablePage, RetryableStatus
from rota_contracts.messages.robot_state import ReadRobots, RobotsReply, RobotState
from rota_contracts.messages.trigger import (
    RejectReason,
    TriggerAdmittedV1,
    TriggerReceivedV1,
    TriggerRejectedV1,
)


@dataclass
class Scheduler:
    """Admits every trigger, or refuses it when `refuses` says why; answers what has become of it.

    `queued` and `admitted` are executions of the robot leader; `ended` are the triggers of those that are over, by
    execution, in the order of their ends; `plans` is what is planned, by id; `states` is how the
    team's robots stand, by name.
    """

    bus: InMemoryBus
    refuses: RejectReason | None = None
    refuses_plans: str = ""
    seen: list[TriggerReceivedV1] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    admitted: list[str] = field(default_factory=list)
    ended: dict[str, TriggerReply] = field(default_factory=dict)
    withdrawals: list[Withdraw] = field(default_factory=list)
    changes: list[ChangePlan] = field(default_factory=list)
    plans: dict[str, PlanItem] = field(default_factory=dict)
    states: dict[str, RobotState] = field(default_factory=dict)
    looked: list[ReadRobots] = field(default_factory=list)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Scheduler"]:
        self.service = Service("scheduler", "", runtime=Runtime(bus=self.bus))
        router = Router()
        router.on(TRIGGER_RECEIVED, self._on_trigger)
        router.answer(READ_TRIGGER, self._read)
        router.answer(LIST_RETRYABLE, self._list_retryable)
        router.answer(WITHDRAW, self._withdraw)
        router.answer(CHANGE_PLAN, self._change_plan)
        router.answer(LIST_PLANS, self._list_plans)
        router.answer(READ_ROBOTS, self._read_robots)
        self.service.include(router)
        await self.service.start()
        await self.service.started.wait()
        try:
            yield self
        finally:
            await self.service.stop(1)

    async def _on_trigger(self, event: Event[TriggerReceivedV1]) -> None:
        trigger, at = event.data, self.service.runtime.clock()
        self.seen.append(trigger)
        whose = {"team_id": trigger.team_id, "member_id": trigger.member_id, "trigger_id": trigger.trigger_id}
        if self.refuses is None:
            admitted = {"type": trigger.type, "execution_id": execution_id(trigger.trigger_id), "admitted_at": at}
            fact = TriggerAdmittedV1.model_validate(whose | admitted)
            await self.service.publish(TRIGGER_ADMITTED, fact, caused_by=event)
        else:
            why = {"type": trigger.type, "reason": self.refuses, "message": f"no: {self.refuses}", "rejected_at": at}
            no = TriggerRejectedV1.model_validate(whose | why)
            await self.service.publish(TRIGGER_REJECTED, no, caused_by=event)

    async def _read(self, question: ReadTrigger) -> TriggerReply:
        if question.execution_id is not None:
            if over := self.ended.get(question.execution_id):
                return over if question.with_trigger else over.model_copy(update={"trigger": None})
            runs = [each for each in self.seen if execution_id(each.trigger_id) == question.execution_id]
            if runs:
                trigger = runs[0] if question.with_trigger else None
                return TriggerReply(trigger_id="", state=TriggerState.RUNNING, message="it runs", trigger=trigger)
            states = dict.fromkeys(self.admitted, TriggerState.ADMITTED) | dict.fromkeys(
                self.queued, TriggerState.QUEUED
            )
            return TriggerReply(trigger_id="", state=states.get(question.execution_id, TriggerState.UNKNOWN))
        known = any(trigger.trigger_id == question.trigger_id for trigger in self.seen)
        if not known:
            return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.UNKNOWN)
        if self.refuses is not None:
            text = f"no: {self.refuses}"
            return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.REJECTED, message=text)
        run = execution_id(question.trigger_id)
        return TriggerReply(trigger_id=question.trigger_id, state=TriggerState.RUNNING, execution_id=run)

    async def _list_retryable(self, question: ListRetryable) -> RetryablePage:
        """A second apart, in pages; their place is the cursor."""
        found = [
            Retryable(
                execution_id=each,
                member_id=over.trigger.member_id,
                trigger_type=over.trigger.type,
                status=RetryableStatus.REJECTED if over.reason else RetryableStatus.FAILED,
                ended_at=over.trigger.received_at + timedelta(seconds=index),
            )
            for index, (each, over) in enumerate(self.ended.items())
            if over.trigger is not None
        ]
        start = int(question.after or 0)
        wanted = [each for each in found if question.until is None or each.ended_at < question.until]
        shown = [each for each in wanted if question.status in (None, each.status)][start:][: question.limit]
        more = len(shown) == question.limit
        return RetryablePage(executions=shown, next=str(start + question.limit) if more else "")

    async def _withdraw(self, what: Withdraw) -> WithdrawReply:
        self.withdrawals.append(what)
        wanted = (self.queued + self.admitted) if what.execution_id is None else [what.execution_id]
        gone = [each for each in self.queued if each in wanted]
        self.queued = [each for each in self.queued if each not in gone]
        return WithdrawReply(execution_ids=gone, admitted=[each for each in self.admitted if each in wanted])

    async def _change_plan(self, change: ChangePlan) -> ChangePlanReply:
        self.changes.append(change)
        if self.refuses_plans:
            return ChangePlanReply(item=self.plans.get(change.plan_id), refused=self.refuses_plans)
        there = self.plans.get(change.plan_id)
        if change.action is PlanAction.ADD and there is None:
            given = change.model_dump(exclude={"action"})
            there = PlanItem(created_at=self.service.runtime.clock(), **given)
        elif there is not None:
            gone = change.action is PlanAction.REMOVE
            there = there.model_copy(update={"state": PlanState.REMOVED} if gone else {"plan_time": change.plan_time})
        if there is not None:
            self.plans[change.plan_id] = there
        return ChangePlanReply(item=there)

    async def _read_robots(self, question: ReadRobots) -> RobotsReply:
        self.looked.append(question)
        found = [self.states[name] for name in question.member_ids if name in self.states]
        return RobotsReply(robots=[each for each in found if each.team_id == question.team_id])

    async def _list_plans(self, question: ListPlans) -> PlanPage:
        mine = [one for one in self.plans.values() if question.member_id in (None, one.member_id)]
        return PlanPage(items=mine[: question.limit])
