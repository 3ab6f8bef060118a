"""A stand-in for the executor: records each request and reports its end at once.

A report of the end implies the start; only daemons' runs, which go on for days, are also reported as started.
"""

from collections.abc import Callable
from datetime import datetime

from rota_common.bus.router import Router
from rota_common.runtime.service import Runtime, Service
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.ids import clock_trigger_id, execution_id
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionRequestedV1, ExecutionStartedV1
from rota_contracts.messages.executor_capacity import (
    REPORT_S,
    CheckSlots,
    ExecutorReportedV1,
    SlotsReply,
    SlotState,
)
from rota_contracts.model import ALL
from tests.clock_year.daemons import Daemons
from tests.clock_year.definition import TEAM
from tests.clock_year.scoreboard import Scoreboard

CAPACITY = 10_000
SLOTS = 128


class StubExecutor:
    """`now`: the virtual time. Daemons' runs go on until `finish` ends them."""

    def __init__(self, nats_url: str, scoreboard: Scoreboard, daemons: Daemons, now: Callable[[], datetime]) -> None:
        self._scoreboard, self._daemons = scoreboard, daemons
        self._now = now
        self._ended: dict[str, ExecStatus] = {}
        self.service = Service("executor", nats_url, runtime=Runtime(clock=now))
        router = Router()
        router.on(catalog.EXECUTION_REQUESTED, self._on_requested, slots=SLOTS)
        router.answer(catalog.CHECK_SLOTS, self._on_check)
        self.service.include(router)
        self.service.every(REPORT_S, self._report, name="report")

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        request, trigger = event.data, event.data.trigger
        scheduled = trigger.scheduled_at
        if scheduled is None or trigger.trigger_id != clock_trigger_id(TEAM, request.member_id, scheduled):
            self._scoreboard.note(f"{request.member_id}: a run of no clock, of trigger {trigger.trigger_id}")
            return
        if request.member_id in self._daemons:
            self._daemons.requested(request.member_id, trigger.trigger_id, scheduled, self._now())
            await self._started(request)
        else:
            self._scoreboard.fired((request.member_id, scheduled), request.execution_id)
            await self.finish(request.member_id, trigger.trigger_id)

    async def _started(self, request: ExecutionRequestedV1) -> None:
        fact = ExecutionStartedV1(
            execution_id=request.execution_id,
            team_id=TEAM,
            member_id=request.member_id,
            started_at=self._now(),
            grant=request.grant,
        )
        await self.service.publish(catalog.EXECUTION_STARTED, fact, caused_by=fact.execution_id)

    async def finish(self, member: str, trigger_id: str, *, well: bool = True, reported: bool = True) -> None:
        """End this run; not `reported`: only in the reply to a check of slots."""
        status = ExecStatus.COMPLETED if well else ExecStatus.FAILED
        fact = ExecutionFinishedV1(
            execution_id=execution_id(trigger_id),
            team_id=TEAM,
            member_id=member,
            trigger_id=trigger_id,
            status=status,
            error=None if well else "failed by the script",
            finished_at=self._now(),
        )
        self._ended[fact.execution_id] = status
        if reported:
            await self.service.publish(catalog.EXECUTION_FINISHED, fact, caused_by=fact.execution_id)

    async def _on_check(self, question: CheckSlots) -> SlotsReply:
        """Executions that are not over are running."""
        found = ((each, self._ended.get(each, ExecStatus.RUNNING)) for each in question.execution_ids)
        return SlotsReply(slots=[SlotState(execution_id=each, status=status) for each, status in found])

    async def _report(self) -> None:
        report = ExecutorReportedV1(executor_id="stub", capacity=CAPACITY, at=self._now(), team_id=ALL, member_id=ALL)
        await self.service.publish.observe(catalog.EXECUTOR_REPORTED, report)
