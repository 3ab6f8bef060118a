"""Taking an execution from where it is to where it must wait: the loop around `next_step` and `apply`."""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import cast

from executor.active_runs import ActiveRuns, StepCancelled
from executor.domain import journal, lifecycle
from executor.domain.outcomes import Outcome, Progressed, Recalled, RulesAnswered, Used
from executor.domain.run import Run
from executor.domain.steps import (
    Done,
    Finish,
    MakeCalls,
    Park,
    RecallLessons,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    RequestVerdict,
    Step,
    Work,
    describe,
)
from executor.ports import Fenced, Runs
from executor.publish import EventPublisher
from executor.steps.step_runner import StepRunner
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff
from rota_contracts.messages.trigger import ExecutorMode

BUSY_S = 1.0
"""How soon to come back to a run that another worker holds."""


@dataclass(frozen=True)
class Timeouts:
    """Times in seconds: how long a claim holds, and how long to wait for another service before asking again."""

    lease: float
    patience: float


class RunWorker:
    """One worker's way with executions. `owner` names the process; `hands` are the runs that it works on now."""

    def __init__(
        self,
        runs: Runs,
        perform: StepRunner,
        announce: EventPublisher,
        *,
        owner: str,
        pace: Timeouts,
        clock: Clock,
        random: Random,
    ) -> None:
        self._runs, self._perform, self._announce = runs, perform, announce
        self._owner, self._pace, self._clock, self._random = owner, pace, clock, random
        self.active_runs = ActiveRuns()

    async def start(self, run: Run) -> None:
        """Begin a new run, or go on with it if it has been begun before.

        A first step that only asks what the memory knows needn't wait until the run is stored.
        """
        epoch, outcome = await asyncio.gather(
            self._runs.create(run, owner=self._owner, until=self._until()), self._first(run)
        )
        if epoch is None:
            await self._announce.started(await self._runs.find(run.id) or run)
            await self.resume(run.id)
            return
        run = run.model_copy(update={"stored": run})
        if outcome is not None:
            run = journal.record_outcome(run, outcome, now=self._clock())
        holding = self._hold(journal.record_signals(run, now=self._clock()), epoch, from_sweeper=False)
        told, done = await asyncio.gather(self._announce.started(run), holding, return_exceptions=True)
        if failure := done or told:
            raise failure

    async def resume(
        self, run_id: str, answer: Progressed | None = None, *, grant: int = 0, from_sweeper: bool = False
    ) -> None:
        """Apply an `answer` the run waits for, or the slot it asked for, and go on.

        `from_sweeper`: no message stands behind it that would come again. While another worker holds the run it is that
        worker's to go on with, or the sweeper's once the claim has ended; an answer must not be lost meanwhile, so it
        raises Transient.
        """
        if answer is not None and await self._pass_on(run_id, answer):
            return
        claimed = await self._runs.claim(run_id, owner=self._owner, until=self._until(), now=self._clock())
        if claimed is None:
            await self._unclaimed(run_id, must_claim=answer is not None or grant > 0, from_sweeper=from_sweeper)
            return
        run, epoch = claimed
        if not run.recalled:  # it had hardly begun: whoever began it may not have told
            await self._announce.started(run)
        now = self._clock()
        run = journal.record_expired(journal.record_signals(journal.record_taken_over(run, now=now), now=now), now=now)
        run = journal.record_granted(run, grant, now=now)
        if grant:
            await self._announce.started(run, grant=grant)
        if answer is not None:
            run = journal.record_outcome(run, answer, now=now)
        await self._hold(run, epoch, from_sweeper=from_sweeper)

    async def _first(self, run: Run) -> Outcome | None:
        """What comes of a new run's first step, if that is one which may be done twice without a difference."""
        step = lifecycle.next_step(run)
        if not isinstance(step, RecallLessons) or step.look_around:
            return None
        async for heard in self._perform(run, step):
            return heard.outcome
        raise AssertionError("every step has an outcome")

    async def _pass_on(self, run_id: str, answer: Progressed) -> bool:
        """After most answers the run only asks the next service: one compare-and-set does then, without a claim."""
        free = await self._runs.read_free(run_id)
        if free is None:
            return False
        run, epoch = free
        run = journal.record_outcome(journal.record_signals(run, now=self._clock()), answer, now=self._clock())
        try:
            left = await self._leave(run, epoch, lifecycle.next_step(run), from_sweeper=False)
        except Fenced:
            return False
        if left is not None and left.inbox:  # said while it was let go
            await self.resume(run_id)
        return left is not None

    async def _unclaimed(self, run_id: str, *, must_claim: bool, from_sweeper: bool) -> None:
        run = await self._runs.find(run_id)
        if run is None:
            raise Transient(f"execution {run_id} isn't there yet", after=BUSY_S)
        if run.over:
            await self._tell_end(run, from_sweeper=from_sweeper)
        elif must_claim:
            raise Transient(f"execution {run_id} is being worked on", after=BUSY_S)

    async def _tell_end(self, run: Run, *, from_sweeper: bool) -> None:
        await self._announce.finished(run)
        if from_sweeper:
            await self._runs.mark_announced(run.id)

    async def _hold(self, run: Run, epoch: int, *, from_sweeper: bool) -> None:
        """Go on with a claimed run while its claim is renewed."""
        renewing = asyncio.create_task(self._renew(run.id, epoch))
        try:
            with self.active_runs.holding(run.id):
                left = await self._go_on(run, epoch, from_sweeper=from_sweeper)
        except Fenced as error:
            raise Transient(str(error), after=BUSY_S) from error
        finally:
            renewing.cancel()
        if left.inbox:  # said while it was let go
            await self.resume(run.id, from_sweeper=from_sweeper)

    async def _go_on(self, run: Run, epoch: int, *, from_sweeper: bool) -> Run:
        step = lifecycle.next_step(run)
        while (left := await self._leave(run, epoch, step, from_sweeper=from_sweeper)) is None:
            run = await self._work(run, epoch, cast(Work, step))
            if run.retry_at is not None:
                return await self._runs.release(run, epoch, check_at=run.retry_at)
            step = lifecycle.next_step(run)
        return left

    async def _work(self, run: Run, epoch: int, step: Work) -> Run:
        """The run after one step, stored where that matters; a stop interrupts the step, and is heard at once."""
        await self._announce.beginning(run, step)
        began = self._clock()
        current = "" if isinstance(step, MakeCalls) else describe(step)
        try:
            async for heard in self.active_runs.interruptible(run.id, self._perform(run, step)):
                run = journal.record_outcome(
                    run,
                    heard.outcome,
                    now=self._clock(),
                    step=current,
                    began=began,
                    retry_after=backoff(run.failures + 1, random=self._random),
                    said=heard.said,
                    tools=heard.tools,
                )
                await self._announce.happened(run, heard.outcome)
                if _worth_saving(run, heard.outcome):
                    run = await self._runs.save(run, epoch)
        except StepCancelled:
            run = await self._runs.save(run, epoch)
        return journal.record_signals(run, now=self._clock()) if run.inbox else run

    async def _leave(self, run: Run, epoch: int, step: Step, *, from_sweeper: bool) -> Run | None:
        """Let go of a run that is over, parked or another service's: saved first, told then. None if there is work.

        If the telling fails, the message or the sweeper brings us back here, and the same is told again.
        """
        now, patience = self._clock(), timedelta(seconds=self._pace.patience)
        match step:
            case Finish(status):
                over = journal.record_finished(run, status, now=now)
                left = await self._runs.finish(over, epoch, check_at=now + patience if from_sweeper else None)
                if left is None:  # it was told something: it hears that first
                    return await self._runs.release(run, epoch, check_at=now)
                await self._tell_end(left, from_sweeper=from_sweeper)
                return left
            case Done():
                await self._announce.finished(run)
                return run
            case Park():
                left = await self._runs.release(journal.record_parked(run, now=now), epoch, check_at=now + patience)
                if not left.inbox:
                    await self._announce.parked(left)
                    await self._runs.mark_announced(run.id)
                return left
            case RequestVerdict() | RequestDelivery() | RequestLearning() | RequestSlot():
                waiting = lifecycle.wait_for_answer(run, step, now=now, patience=patience)
                left = await self._runs.release(waiting, epoch, check_at=waiting.next_look(patience))
                if not left.inbox:
                    await self._announce.ask(waiting, step)
                return left
            case _:
                return None

    async def _renew(self, run_id: str, epoch: int) -> None:
        """Until it is cancelled: what keeps one renewal from working may be over at the next."""
        while True:
            await asyncio.sleep(self._pace.lease / 3)
            with contextlib.suppress(Exception):  # if the run is lost, the next write will find out
                await self._runs.renew(run_id, epoch, until=self._until())

    def _until(self) -> datetime:
        return self._clock() + timedelta(seconds=self._pace.lease)


def _worth_saving(run: Run, outcome: Outcome) -> bool:
    """What costs nothing to do again is saved with the next step: questions, and all inside a dry run; but not what
    would be answered otherwise when a report is made again. What is given back after this step is written with that."""
    asked = isinstance(outcome, RulesAnswered) or (isinstance(outcome, Recalled) and outcome.surroundings is None)
    if asked or run.execution.executor_mode is not ExecutorMode.STANDARD:
        return False
    given_back = run.retry_at is not None and not isinstance(outcome, Used)
    return not given_back and isinstance(lifecycle.next_step(run), Work)
