"""The sweeper: resumes runs that no worker has taken up, because one died, an answer got lost or a delay is over."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from executor.domain.run import Run
from executor.ports import Runs, Scope
from executor.runs.resting_runs import RestingRuns
from executor.runs.signals import SendSignal, deadline_signal
from executor.runs.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.runtime.logs import logger

BATCH = 100
CONCURRENCY = 32

LOG = logger(service="executor", loop="sweep")


@dataclass
class Gap:
    """The time of the last sweep that reached the store, and how long to wait after a gap."""

    last: float | None = None
    until: float = 0.0

    def recent(self, now: float, lease: float) -> bool:
        """Called with every sweep that has reached the store."""
        if self.last is not None and now - self.last > lease / 2:
            self.until = now + lease
        self.last = now
        return now < self.until


@dataclass(frozen=True, kw_only=True)
class Sweeper:
    """Every replica sweeps; claims are compare-and-set, so each overdue run is taken up once.

    `outages`: errors of a server that is away, which say nothing about a run.

    After a gap, because the store was away or this process stood still, it waits for a `lease`, in seconds: claims have
    ended meanwhile whose workers live, and renew them now.
    """

    runs: Runs
    worker: RunWorker
    send: SendSignal
    clock: Clock
    lease: float
    outages: tuple[type[Exception], ...] = ()
    monotonic: Callable[[], float] = time.monotonic
    _gap: Gap = field(init=False, default_factory=Gap)
    _resting: RestingRuns = field(init=False, default_factory=RestingRuns)
    _tasks: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)

    async def __call__(self) -> None:
        """Signal runs past their deadline, and take up overdue ones in the background."""
        async for run in self.runs.past_deadline(limit=BATCH, apart_from=self._resting.now()):
            await self._end(run)
        if self._gap.recent(self.monotonic(), self.lease):
            return
        async for run_id in self.runs.overdue(limit=BATCH, apart_from=self._resting.now()):
            if run_id not in self._tasks and len(self._tasks) < CONCURRENCY:
                self._take_up(run_id)

    async def close(self) -> None:
        """Leave the runs under way to other replicas."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _end(self, run: Run) -> None:
        execution = run.execution
        scope = Scope(execution.team_id, execution.member_id, run.id)
        try:
            await self.send(scope, deadline_signal(run, self.clock))
        except self.outages:
            raise
        except Exception as error:  # the signal may be stored; the next sweep sends it again
            self._resting.failed(run.id)
            LOG.exception("could not end", execution_id=run.id, reason=repr(error))

    def _take_up(self, run_id: str) -> None:
        task = asyncio.create_task(self._resume(run_id))
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    async def _resume(self, run_id: str) -> None:
        try:
            await self.worker.resume(run_id, from_sweeper=True)
            self._resting.worked(run_id)
        except Transient:  # another worker holds it
            return
        except self.outages as error:
            LOG.warning("a server is away", execution_id=run_id, reason=repr(error))
        except Exception as error:  # it stays overdue, and holds up no other run
            self._resting.failed(run_id)
            LOG.exception("could not go on", execution_id=run_id, reason=repr(error))
