"""Taking an execution from where it is to where it must wait: the loop around `next_step` and `apply`."""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import cast

from executor import domain
from executor.announce import Announce
from executor.perform import Perform
from executor.ports import Fenced, Runs
from executor.run import Run
from executor.steps import (
    Done,
    Finish,
    Outcome,
    Progressed,
    Recalled,
    RequestDelivery,
    RequestLearning,
    RequestVerdict,
    RulesAnswered,
    Step,
    Work,
)
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_contracts.trigger import ExecutorMode

BUSY_S = 1.0
"""How soon to come back to a run that another worker holds."""


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
        """Begin a new run, or go on with it if it has been begun before.

        The first step only asks what the memory knows: that needn't wait until the run is stored.
        """
        epoch, outcome = await asyncio.gather(
            self._runs.create(run, owner=self._owner, until=self._until()),
            self._perform(run, cast(Work, domain.next_step(run))),
        )
        if epoch is None:
            await self._announce.started(await self._runs.find(run.id) or run)
            await self.resume(run.id)
            return
        run = domain.apply(run, outcome, now=self._clock())
        holding = self._hold(run, epoch, swept=False)
        told, done = await asyncio.gather(self._announce.started(run), holding, return_exceptions=True)
        if failure := done or told:
            raise failure

    async def resume(self, run_id: str, answer: Progressed | None = None, *, swept: bool = False) -> None:
        """Apply an `answer` the run waits for, and go on. `swept`: no message stands behind it, which would come again.

        While another worker holds the run it is that worker's to go on with, or the sweeper's once the claim has ended;
        an answer must not be lost meanwhile, so it raises Transient.
        """
        if answer is not None and await self._pass_on(run_id, answer):
            return
        claimed = await self._runs.claim(run_id, owner=self._owner, until=self._until(), now=self._clock())
        if claimed is None:
            await self._unclaimed(run_id, answered=answer is not None, swept=swept)
            return
        run, epoch = claimed
        if not run.recalled:  # it had hardly begun: whoever began it may not have told
            await self._announce.started(run)
        if answer is not None:
            run = domain.apply(run, answer, now=self._clock())
        await self._hold(run, epoch, swept=swept)

    async def _pass_on(self, run_id: str, answer: Progressed) -> bool:
        """After most answers the run only asks the next service: one compare-and-set does then, without a claim."""
        free = await self._runs.peek(run_id)
        if free is None:
            return False
        run, epoch = free
        run = domain.apply(run, answer, now=self._clock())
        try:
            return await self._leave(run, epoch, domain.next_step(run), swept=False)
        except Fenced:
            return False

    async def _unclaimed(self, run_id: str, *, answered: bool, swept: bool) -> None:
        run = await self._runs.find(run_id)
        if run is None:
            raise Transient(f"execution {run_id} isn't there yet", after=BUSY_S)
        if run.over:
            await self._tell_end(run, swept=swept)
        elif answered:
            raise Transient(f"execution {run_id} is being worked on", after=BUSY_S)

    async def _tell_end(self, run: Run, *, swept: bool) -> None:
        await self._announce.finished(run)
        if swept:
            await self._runs.told(run.id)

    async def _hold(self, run: Run, epoch: int, *, swept: bool) -> None:
        """Go on with a claimed run while its claim is renewed."""
        renewing = asyncio.create_task(self._renew(run.id, epoch))
        try:
            await self._go_on(run, epoch, swept=swept)
        except Fenced as error:
            raise Transient(str(error), after=BUSY_S) from error
        finally:
            renewing.cancel()

    async def _go_on(self, run: Run, epoch: int, *, swept: bool) -> None:
        step = domain.next_step(run)
        while not await self._leave(run, epoch, step, swept=swept):
            work = cast(Work, step)
            await self._announce.beginning(run, work)
            outcome = await self._perform(run, work)
            retry_after = backoff(run.failures + 1, random=self._random)
            run = domain.apply(run, outcome, now=self._clock(), retry_after=retry_after)
            await self._announce.happened(run, outcome)
            if run.retry_at is not None:
                await self._runs.release(run, epoch, look_at=run.retry_at)
                return
            step = domain.next_step(run)
            if _worth_saving(run, outcome) and isinstance(step, Work):
                run = await self._runs.save(run, epoch)
                step = domain.next_step(run) if run.cancelled is not None else step

    async def _leave(self, run: Run, epoch: int, step: Step, *, swept: bool) -> bool:
        """Let go of a run that is over or another service's: saved first, told then. False if there is work to do.

        If the telling fails, the message or the sweeper brings us back here, and the same is told again.
        """
        patience = timedelta(seconds=self._pace.patience)
        match step:
            case Finish(status):
                over = domain.finish(run, status, now=self._clock())
                look_at = self._clock() + patience if swept else None
                await self._tell_end(await self._runs.release(over, epoch, look_at=look_at), swept=swept)
            case Done():
                await self._announce.finished(run)
            case RequestVerdict() | RequestDelivery() | RequestLearning():
                waiting = domain.asking(run, step, now=self._clock(), patience=patience)
                released = await self._runs.release(waiting, epoch, look_at=waiting.next_look(patience))
                if released.cancelled is not None:
                    await self.resume(run.id, swept=swept)
                else:
                    await self._announce.ask(waiting, step)
            case _:
                return False
        return True

    async def _renew(self, run_id: str, epoch: int) -> None:
        """Until it is cancelled: what keeps one renewal from working may be over at the next."""
        while True:
            await asyncio.sleep(self._pace.lease / 3)
            with contextlib.suppress(Exception):  # if the run is lost, the next write will find out
                await self._runs.renew(run_id, epoch, until=self._until())

    def _until(self) -> datetime:
        return self._clock() + timedelta(seconds=self._pace.lease)


def _worth_saving(run: Run, outcome: Outcome) -> bool:
    """What costs nothing to do again is saved with the next step: questions, and all inside a dry run."""
    standard = run.execution.executor_mode is ExecutorMode.STANDARD
    return standard and not isinstance(outcome, (Recalled, RulesAnswered))
