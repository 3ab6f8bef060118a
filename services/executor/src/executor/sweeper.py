"""Going on with executions that nobody went on with: a worker died, an answer got lost, a delay is over."""

import asyncio

from executor.ports import Runs, Scope
from executor.signals import SendSignal, deadline_word
from executor.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger

BATCH = 100
AT_ONCE = 32


class Sweeper:
    """Every replica sweeps; a claim is taken by compare-and-set, so each overdue run is taken up once."""

    def __init__(self, runs: Runs, drive: RunWorker, give: SendSignal, clock: Clock, *, interval: float) -> None:
        self._runs, self._drive, self._give, self._clock, self._interval = runs, drive, give, clock, interval
        self._log = logger(service="executor", loop="sweep")
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """For ever: take up what is overdue, wait `interval` seconds, again."""
        try:
            while True:
                await self._end_late()
                async for run_id in self._runs.overdue(self._clock(), limit=BATCH):
                    if run_id not in self._under_way and len(self._under_way) < AT_ONCE:
                        self._take_up(run_id)
                await asyncio.sleep(self._interval)
        finally:
            for task in self._under_way.values():
                task.cancel()

    async def _end_late(self) -> None:
        """Runs that have worked for longer than they may are told so, whoever has them in hand."""
        async for run in self._runs.past_deadline(self._clock(), limit=BATCH):
            execution = run.execution
            scope = Scope(execution.team_id, execution.member_id, run.id)
            await self._give(scope, deadline_word(run, self._clock))

    def _take_up(self, run_id: str) -> None:
        task = asyncio.create_task(self._resume(run_id))
        self._under_way[run_id] = task
        task.add_done_callback(lambda _: self._under_way.pop(run_id, None))

    async def _resume(self, run_id: str) -> None:
        try:
            await self._drive.resume(run_id, from_sweeper=True)
        except Transient:  # somebody else was quicker
            return
        except Exception as error:  # one bad run must not keep the others waiting; it stays overdue and is seen again
            self._log.exception("could not go on", execution_id=run_id, reason=repr(error))
