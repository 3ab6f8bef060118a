"""A stand-in for the executors: every execution takes a fixed time, and is noted."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from rota_common.bus.router import Router
from rota_common.clock import now
from rota_common.runtime.service import Service
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.execution import ExecStatus, ExecutionFinishedV1, ExecutionRequestedV1, ExecutionStartedV1
from rota_contracts.messages.executor_capacity import REPORT_S, ExecutorReportedV1
from rota_contracts.model import ALL


@dataclass(frozen=True)
class Run:
    """An execution that was begun; `scheduled_at` is the due instant of the robot's clock, if that started it."""

    team: str
    member: str
    scheduled_at: datetime | None
    started_at: datetime


class ExecutorStandIn:
    """Takes `capacity` executions at once, each for `work_s` seconds; `most` is the highest number at once."""

    def __init__(self, nats_url: str, *, capacity: int, work_s: float) -> None:
        self.work_s, self._capacity = work_s, capacity
        self.runs: dict[str, Run] = {}
        self.finished: Counter[str] = Counter()
        self.most = 0
        self._working: set[asyncio.Task[None]] = set()
        self.service = Service("executor", nats_url)
        router = Router()
        router.on(catalog.EXECUTION_REQUESTED, self._on_requested, slots=2 * capacity)
        self.service.include(router)
        self.service.every(REPORT_S, self._report, name="report")

    async def start(self) -> None:
        await self.service.start()
        await self.service.started.wait()

    async def stop(self) -> None:
        await self.service.stop(2)

    async def _on_requested(self, event: Event[ExecutionRequestedV1]) -> None:
        request, trigger = event.data, event.data.trigger
        if request.execution_id in self.runs:  # delivered again
            return
        run = Run(request.team_id, request.member_id, trigger.scheduled_at, now())
        self.runs[request.execution_id] = run
        task = asyncio.create_task(self._work(request, run))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        self.most = max(self.most, len(self._working))

    async def _work(self, request: ExecutionRequestedV1, run: Run) -> None:
        whose = {"execution_id": request.execution_id, "team_id": run.team, "member_id": run.member}
        started = ExecutionStartedV1.model_validate({**whose, "started_at": run.started_at, "grant": request.grant})
        await self.service.publish(catalog.EXECUTION_STARTED, started, caused_by=request.execution_id)
        await asyncio.sleep(self.work_s)
        over = {"trigger_id": request.trigger.trigger_id, "status": ExecStatus.COMPLETED, "finished_at": now()}
        finished = ExecutionFinishedV1.model_validate(whose | over)
        self.finished[request.execution_id] += 1
        await self.service.publish(catalog.EXECUTION_FINISHED, finished, caused_by=request.execution_id)

    async def _report(self) -> None:
        report = ExecutorReportedV1(
            executor_id="stand-in", capacity=self._capacity, at=now(), team_id=ALL, member_id=ALL
        )
        await self.service.publish.observe(catalog.EXECUTOR_REPORTED, report)
