"""Taking an execution from where it is to where it must wait: the loop around `next_step` and `apply`."""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from executor import domain
from executor.announce import Announce
from executor.perform import Perform
from executor.ports import Fenced, Runs
from executor.run import Run
from executor.steps import (
    Done,
    Finish,
    Outcome,
    Question,
    Recalled,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RulesAnswered,
    StepDelayed,
)
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_contracts.trigger import ExecutorMode

BUSY_S = 0.2
"""How soon to come back to a run that another worker holds: its answer may be the very next thing."""


@dataclass(frozen=True)
class Pace:
    """Times in seconds: how long a claim holds, and how long to wait for another service before asking again."""

    lease: float
    patience: float


class Drive:
    """One worker's way with executions. `owner` names the process."""

    def __init__(
        self, runs: Runs, perform: Perform, announce: Announce, *, owner: str, pace: Pace, clock: Clock, random: Random
    ) -> None:
        self._runs, self._perform, self._announce = runs, perform, announce
        self._owner, self._pace, self._clock, self._random = owner, pace, clock, random

    async def start(self, run: Run) -> None:
        """Begin a new run, or go on with it if it has been begun before."""
        epoch = await self._runs.create(run, owner=self._owner, until=self._until())
        if epoch is None:
            await self.resume(run.id)
            return
        await self._announce.started(run)
        await self._hold(run, epoch)

    async def resume(self, run_id: str, answer: Outcome | None = None) -> None:
        """Claim a run, apply an `answer` it waits for, and go on. Raises Transient while another worker holds it."""
        claimed = await self._runs.claim(run_id, owner=self._owner, until=self._until(), now=self._clock())
        if claimed is None:
            await self._unclaimed(run_id)
            return
        run, epoch = claimed
        if answer is not None:
            run = domain.apply(run, answer, now=self._clock())
        await self._hold(run, epoch)

    async def _unclaimed(self, run_id: str) -> None:
        run = await self._runs.find(run_id)
        if run is None:
            raise Transient(f"execution {run_id} isn't there yet", after=BUSY_S)
        if not run.over:
            raise Transient(f"execution {run_id} is being worked on", after=BUSY_S)
        await self._announce.finished(run)

    async def _hold(self, run: Run, epoch: int) -> None:
        """Go on with a claimed run while its claim is renewed."""
        renewing = asyncio.create_task(self._renew(run.id, epoch))
        try:
            await self._go_on(run, epoch)
        except Fenced as error:
            raise Transient(str(error), after=BUSY_S) from error
        finally:
            renewing.cancel()

    async def _go_on(self, run: Run, epoch: int) -> None:
        while True:
            match domain.next_step(run):
                case Finish(status):
                    over = await self._runs.release(domain.finish(run, status, now=self._clock()), epoch, look_at=None)
                    await self._announce.finished(over)
                    return
                case Done():
                    await self._announce.finished(run)
                    return
                case (RequestVerdict() | RequestDelivery() | RequestLearning()) as question:
                    await self._let_go(run, epoch, question)
                    return
                case work:
                    self._announce.beginning(run, work)
                    outcome = await self._perform(run, work)
                    retry_after = backoff(run.failures + 1, random=self._random)
                    run = domain.apply(run, outcome, now=self._clock(), retry_after=retry_after)
                    self._announce.happened(run, outcome)
                    if isinstance(outcome, StepDelayed) and run.retry_at is not None:
                        await self._runs.release(run, epoch, look_at=run.retry_at)
                        return
                    if _worth_saving(outcome) and not _writes_next(run):
                        run = await self._runs.save(run, epoch, durable=_durable(run))

    async def _let_go(self, run: Run, epoch: int, question: Question) -> None:
        """Save that the run waits, then ask: if the asking fails, the message or the sweeper brings us back here."""
        patience = timedelta(seconds=self._pace.patience)
        waiting = domain.asking(run, question, now=self._clock(), patience=patience)
        look_at = waiting.next_look(patience)
        released = await self._runs.release(waiting, epoch, look_at=look_at)
        if released.cancelled is not None:
            await self.resume(run.id)
            return
        await self._announce.ask(waiting, question)

    async def _renew(self, run_id: str, epoch: int) -> None:
        with contextlib.suppress(Fenced):  # the next write will find out
            while True:
                await asyncio.sleep(self._pace.lease / 3)
                await self._runs.renew(run_id, epoch, until=self._until())

    def _until(self) -> datetime:
        return self._clock() + timedelta(seconds=self._pace.lease)


def _worth_saving(outcome: Outcome) -> bool:
    """What costs nothing to ask again is saved with the next step."""
    return not isinstance(outcome, (Recalled, RulesAnswered))


def _writes_next(run: Run) -> bool:
    """The next step writes the run anyway, before anything leaves."""
    return isinstance(domain.next_step(run), (Finish, RequestVerdict, RequestDelivery, RequestLearning))


def _durable(run: Run) -> bool:
    """A dry run's interior can be done again without harm; everything else is written with majority."""
    return run.execution.executor_mode is ExecutorMode.STANDARD
