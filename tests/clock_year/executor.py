"""Stands in for the executor: notes what is requested, and says at once that it has ended.

Reports come in any order and may be lost on the way, so that a run has begun goes without saying; of daemons' runs,
which go on for days, it is told.
"""

import asyncio
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
from tests.clock_year.scoreboard import Book

CAPACITY = 10_000
SLOTS = 128


class StubExecutor:
    """`now`: the year's time. Daemons' runs go on until `finish` ends them."""

    def __init__(self, nats_url: str, book: Book, daemons: Daemons, now: Callable[[], datetime]) -> None:
        self._book, self._daemons, self._now = book, daemons, now
        self._ended: dict[str, ExecStatus] = {}
        self.service = Service("executor", nats_url, runtime=Runtime(clock=now, fetch_timeout=0.5))
        router = Router()
        router.consume(catalog.EXECUTION_REQUESTED, slots=SLOTS)(self._on_requested)
        router.answer(catalog.CHECK_SLOTS)(self._on_check)
        self.service.include(router)
        self.service.background("report", self._report)

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        request, trigger = event.data, event.data.trigger
        scheduled = trigger.scheduled_at
        if scheduled is None or trigger.trigger_id != clock_trigger_id(TEAM, request.member_id, scheduled):
            self._book.note(f"{request.member_id}: a run that no clock asked for, of trigger {trigger.trigger_id}")
            return
        if request.member_id in self._daemons:
            self._daemons.requested(request.member_id, trigger.trigger_id, scheduled, self._now())
            await self._started(request)
        else:
            self._book.fired((request.member_id, scheduled), request.execution_id)
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

    async def finish(self, member: str, trigger_id: str, *, well: bool = True, told: bool = True) -> None:
        """Say that this run is over; not `told`: say so only when asked."""
        status = ExecStatus.COMPLETED if well else ExecStatus.FAILED
        fact = ExecutionFinishedV1(
            execution_id=execution_id(trigger_id),
            team_id=TEAM,
            member_id=member,
            trigger_id=trigger_id,
            status=status,
            error=None if well else "as the script wants it",
            finished_at=self._now(),
        )
        self._ended[fact.execution_id] = status
        if told:
            await self.service.publish(catalog.EXECUTION_FINISHED, fact, caused_by=fact.execution_id)

    async def _on_check(self, question: CheckSlots) -> SlotsReply:
        """What isn't over runs: nothing is ever lost here."""
        found = ((each, self._ended.get(each, ExecStatus.RUNNING)) for each in question.execution_ids)
        return SlotsReply(slots=[SlotState(execution_id=each, status=status) for each, status in found])

    async def _report(self) -> None:
        while True:
            report = ExecutorReportedV1(
                executor_id="stub", capacity=CAPACITY, at=self._now(), team_id=ALL, member_id=ALL
            )
            await self.service.publish.observe(catalog.EXECUTOR_REPORTED, report)
            await asyncio.sleep(REPORT_S)
