"""The worker: takes a run from where it is to where it must wait, around `next_step` and `apply`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import cast

from executor.domain import journal, lifecycle, quarantine, saving
from executor.domain.outcomes import Outcome, Progressed
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
from executor.domain.tasks import asked_calls
from executor.ports import Fenced, Runs
from executor.publish import EventPublisher
from executor.runs.active_runs import ActiveRuns, StepCancelled
from executor.runs.measure_start import measure_start
from executor.runs.orphans import drop_orphan
from executor.runs.released_runs import ReleasedRuns
from executor.steps.hooked_steps import RunStep
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.retries import backoff

RENEWALS = 4
"""A claim is renewed so many times within its lease: three in a row may come late or get lost."""

BUSY_S = 1.0
"""Delay before a message comes back to a run that another worker holds."""


@dataclass(frozen=True)
class Timeouts:
    """In seconds. `lease`: a claim without renewal; `patience`: for another service's answer before a repeat."""

    lease: float
    patience: float

    @property
    def claim(self) -> timedelta:
        return timedelta(seconds=self.lease)


async def _nothing(run: Run) -> None: ...


def _no_hooks(run: Run) -> bool:
    return False


@dataclass(frozen=True, kw_only=True)
class RunWorker:
    """`owner` names the process in its claims. `hooked`: do hooks stand before a run's calls? `announce`: publishes
    decisions about a run's quarantine."""

    runs: Runs
    run_step: RunStep
    publisher: EventPublisher
    owner: str
    timeouts: Timeouts
    clock: Clock
    random: Random
    hooked: Callable[[Run], bool] = _no_hooks
    announce: Callable[[Run], Awaitable[None]] = _nothing
    active_runs: ActiveRuns = field(init=False, default_factory=ActiveRuns)
    released_runs: ReleasedRuns = field(init=False, default_factory=ReleasedRuns)

    async def start(self, run: Run) -> bool:
        """Start a new run, or resume it if it has been started before; returns whether it is new.

        A first step that only asks the memory doesn't wait until the run is stored.
        """
        first = asyncio.create_task(self._first_outcome(run))
        try:
            epoch = await self.runs.create(run, owner=self.owner, lease=self.timeouts.claim)
            if epoch is None:
                if stored := await self.runs.find(run.id):  # else it was given up
                    await self.publisher.started(stored)
                    await self.resume(run.id)
                return False
            measure_start(run)
            async with self._renewed(run.id, epoch):
                outcome = await first
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        run = run.model_copy(update={"stored": run})
        if outcome is not None:
            run = journal.record_outcome(run, outcome, now=self.clock())
        working = self._hold(journal.record_signals(run, now=self.clock()), epoch, from_sweeper=False)
        published, worked = await asyncio.gather(self.publisher.started(run), working, return_exceptions=True)
        if failure := worked or published:
            raise failure
        return True

    async def resume(
        self,
        run_id: str,
        answer: Progressed | None = None,
        *,
        grant: int = 0,
        from_sweeper: bool = False,
        sent_at: datetime | None = None,
    ) -> None:
        """Apply an `answer` that the run waits for, or the slot it requested, and go on. `sent_at`: of its message.

        `from_sweeper`: there is no message behind it that would be redelivered. While another worker holds the run it
        is left to that worker, or to the sweeper once the claim has ended; an answer must not be lost meanwhile, so
        then Transient is raised.
        """
        if answer is not None and await self._pass_on(run_id, answer):
            return
        claimed = await self.runs.claim(run_id, owner=self.owner, lease=self.timeouts.claim)
        if claimed is None:
            if (found := await self.runs.find(run_id)) is None:
                drop_orphan(run_id, sent_at, now=self.clock())
            else:
                await self._unclaimed(found, must_claim=answer is not None or grant > 0, from_sweeper=from_sweeper)
            return
        run, epoch, claimed_at = claimed
        if saving.without_answers(run):  # its first worker may have died before it published the start
            await self.publisher.started(run)
        now = self.clock()
        run = journal.record_signals(journal.record_taken_over(run, now=now), now=now)
        run = journal.record_granted(journal.record_expired(run, now=claimed_at), grant, now=now)
        if grant:
            await self.publisher.started(run, grant=grant)
        if answer is not None:
            run = journal.record_outcome(run, answer, now=now)
        await self._hold(run, epoch, from_sweeper=from_sweeper)

    async def _first_outcome(self, run: Run) -> Outcome | None:
        """The outcome of a new run's first step, if repeating that step makes no difference."""
        step = lifecycle.next_step(run)
        if not isinstance(step, RecallLessons) or step.with_situation:
            return None
        async for result in self.run_step(run, step):
            return result.outcome
        raise AssertionError("every step has an outcome")

    async def _pass_on(self, run_id: str, answer: Progressed) -> bool:
        """After most answers the run only requests something of the next service: then one compare-and-set does,
        without a claim."""
        free = self.released_runs.take(run_id) or await self.runs.read_free(run_id)
        if free is None:
            return False
        run, epoch = free
        run = journal.record_outcome(journal.record_signals(run, now=self.clock()), answer, now=self.clock())
        try:
            released = await self._release(run, epoch, lifecycle.next_step(run), from_sweeper=False)
        except Fenced:
            return False
        if released is not None and released.inbox:  # signalled while it was released
            await self.resume(run_id)
        return released is not None

    async def _unclaimed(self, run: Run, *, must_claim: bool, from_sweeper: bool) -> None:
        if run.over:
            await self._publish_end(run, from_sweeper=from_sweeper)
        elif must_claim:
            raise Transient(f"execution {run.id} is being worked on", after=BUSY_S)

    async def _publish_end(self, run: Run, *, from_sweeper: bool) -> None:
        for each in asked_calls.unpublished(run):
            await self.publisher.approval(run, each)
        await self.publisher.finished(run)
        if from_sweeper:
            await self.announce(run)
            await self.runs.mark_announced(run.id, decided=len(quarantine.decided(run)))

    async def _hold(self, run: Run, epoch: int, *, from_sweeper: bool) -> None:
        """Work on a claimed run while its claim is renewed."""
        try:
            async with self._renewed(run.id, epoch):
                with self.active_runs.holding(run.id):
                    released = await self._work_until_released(run, epoch, from_sweeper=from_sweeper)
        except Fenced as error:
            raise Transient(str(error), after=BUSY_S) from error
        if released.inbox:  # signalled while it was released
            await self.resume(run.id, from_sweeper=from_sweeper)

    async def _work_until_released(self, run: Run, epoch: int, *, from_sweeper: bool) -> Run:
        run = await self._announced(run, epoch)
        step = lifecycle.next_step(run)
        while (released := await self._release(run, epoch, step, from_sweeper=from_sweeper)) is None:
            run = await self._announced(await self._work(run, epoch, cast(Work, step)), epoch)
            if run.retry_at is not None:
                return await self.runs.release(run, epoch, check_in=run.retry_at - self.clock())
            step = lifecycle.next_step(run)
        return released

    async def _announced(self, run: Run, epoch: int) -> Run:
        """The run, whose approvals are published as they are: saved first, and marked with its next write."""
        if not (unpublished := asked_calls.unpublished(run)):
            return run
        run = await self.runs.save(run, epoch)
        for each in unpublished:
            await self.publisher.approval(run, each)
        run = asked_calls.all_published(run)
        return journal.record_signals(run, now=self.clock()) if run.inbox else run

    async def _work(self, run: Run, epoch: int, step: Work) -> Run:
        """The run after one step, saved where that matters, or after signals that came before it; a stop cancels the
        step and is applied at once."""
        hooked = self.hooked(run)
        if saving.needed_before(run, step, hooked=hooked):
            run = await self.runs.save(run, epoch)
            if run.inbox:  # the step may not be the next any more
                return journal.record_signals(run, now=self.clock())
        await self.publisher.step_started(run, step)
        began = self.clock()
        name, costs = "" if isinstance(step, MakeCalls) else describe(step), saving.costs(run, step)
        try:
            async for result in self.active_runs.cancellable(run.id, self.run_step(run, step)):
                run = journal.record_outcome(
                    run,
                    result.outcome,
                    now=self.clock(),
                    step=name,
                    began=began,
                    retry_after=backoff(run.failures + 1, random=self.random),
                    said=result.reply,
                    tools=result.tools,
                    notes=result.problems,
                    call=result.call,
                )
                await self.publisher.step_finished(run, result.outcome, result.reply)
                if costs and saving.needed_after(run, result.outcome, hooked=hooked):
                    run = await self.runs.save(run, epoch)
        except StepCancelled:
            run = await self.runs.save(run, epoch)
        return journal.record_signals(run, now=self.clock()) if run.inbox else run

    async def _release(self, run: Run, epoch: int, step: Step, *, from_sweeper: bool) -> Run | None:
        """Release a run that is over, parked or waits for another service; None if there is work to do.

        It is saved first and published then. If publishing fails, the message or the sweeper brings the run back here,
        and the same is published again.
        """
        now, patience = self.clock(), timedelta(seconds=self.timeouts.patience)
        match step:
            case Finish(status):
                over = journal.record_finished(run, status, now=now)
                released = await self.runs.finish(over, epoch, check_in=patience if from_sweeper else None)
                if released is None:  # there is a signal, which is applied first
                    return await self.runs.release(run, epoch, check_in=timedelta(0))
                await self._publish_end(released, from_sweeper=from_sweeper)
                return released
            case Done():
                await self.publisher.finished(run)
                return run
            case Park():
                parked = journal.record_parked(run, now=now)
                released = await self.runs.release(parked, epoch, check_in=patience)
                if not released.inbox:
                    await self.publisher.parked(released)
                    await self.runs.mark_announced(run.id)
                return released
            case RequestVerdict() | RequestDelivery() | RequestLearning() | RequestSlot():
                waiting = lifecycle.wait_for_answer(run, step, now=now, patience=patience)
                check_at = waiting.next_check(patience) or now
                released = await self.runs.release(waiting, epoch, check_in=check_at - now)
                if not released.inbox:
                    self.released_runs.keep(released, epoch + 1)
                    await self.publisher.request(waiting, step)
                return released
            case _:
                return None

    @contextlib.asynccontextmanager
    async def _renewed(self, run_id: str, epoch: int) -> AsyncIterator[None]:
        """The claim doesn't end meanwhile."""
        renewing = asyncio.create_task(self._renew(run_id, epoch))
        try:
            yield
        finally:
            renewing.cancel()

    async def _renew(self, run_id: str, epoch: int) -> None:
        """Renew the claim until cancelled."""
        while True:
            await asyncio.sleep(self.timeouts.lease / RENEWALS)
            with contextlib.suppress(Exception):  # the next renewal may work; a lost run shows at the next write
                await self.runs.renew(run_id, epoch, lease=self.timeouts.claim)
