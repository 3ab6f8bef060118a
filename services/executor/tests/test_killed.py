"""A worker killed at any write of a run: the next one loses nothing and repeats nothing (F9, TG-01, SC-13)."""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any, cast

import pytest
from services.executor.tests.fixtures import EQUIPPED, MERGE, a_process_task, an_earlier, deduping, new_run, outcome_of
from services.executor.tests.harness import TIMEOUTS, WorkerHarness

from executor.adapters.in_memory import InMemoryBlobs
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain import lifecycle
from executor.domain.outcomes import GoalsCompared, Outcome, Planned, Progressed, Promised
from executor.domain.run import Run, Signal
from executor.domain.steps import (
    AskAgent,
    CompareGoals,
    GiveGoals,
    MakeCalls,
    RequestDelivery,
    RequestLearning,
    RequestSlot,
    Step,
    id_of,
)
from executor.ports import SignalResult
from executor.runs.signals import TakeResult
from executor.runs.worker import RunWorker
from executor.steps.merge_goals import MergeGoals
from rota_common.errors import Transient
from rota_common.testing.samples import NOON
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import Phase

NEVER = NOON + timedelta(days=365)
WRITES = 16
"""More than a run has."""


class Killed(BaseException):
    """Nothing more happens in this process."""


class Deadly(InMemoryRuns):
    """Kills the worker that makes this write, before or after it is made."""

    def __init__(self, number: int, *, made: bool) -> None:
        super().__init__()
        self.left, self._made = number, made

    def _dies(self, *, made: bool) -> None:
        if made == self._made:
            self.left -= 1
            if self.left == 0:
                raise Killed

    async def create(self, run: Run, *, owner: str, lease: timedelta) -> int | None:
        self._dies(made=False)
        epoch = await super().create(run, owner=owner, lease=lease)
        self._dies(made=True)
        return epoch

    async def save(self, run: Run, epoch: int) -> Run:
        self._dies(made=False)
        saved = await super().save(run, epoch)
        self._dies(made=True)
        return saved

    async def release(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run:
        self._dies(made=False)
        left = await super().release(run, epoch, check_in=check_in)
        self._dies(made=True)
        return left

    async def deliver_signal(self, run_id: str, word: Signal) -> SignalResult:
        self._dies(made=False)
        brought = await super().deliver_signal(run_id, word)
        self._dies(made=True)
        return brought


class Life:
    """A run whose workers are killed, and all that the others do about it. `step` is what comes of its steps."""

    def __init__(self, runs: Deadly, first: Run) -> None:
        self.harness = WorkerHarness(runs=runs)
        self.harness.run_step = self.step
        self._message: Callable[[RunWorker], Awaitable[None]] = partial(RunWorker.start, run=first)

    async def step(self, run: Run, step: Step) -> Outcome:
        return outcome_of(run, step)

    async def meanwhile(self, run: Run) -> None:
        """What happens outside."""

    async def _go_on(self) -> None:
        """The work of other replicas once the run is free; an unhandled message is redelivered."""
        worker = self.harness.new_worker("second")
        await self._message(worker)
        for run_id in await self.harness.overdue():
            await worker.resume(run_id, from_sweeper=True)
        run = await self.harness.run()
        await self.meanwhile(run)
        step = lifecycle.next_step(await self.harness.run())
        if isinstance(step, RequestDelivery | RequestLearning):
            self._message = partial(RunWorker.resume, run_id="e1", answer=cast(Progressed, outcome_of(run, step)))
        elif isinstance(step, RequestSlot):
            self._message = partial(RunWorker.resume, run_id="e1", grant=step.parks)

    async def lived(self) -> Run:
        with contextlib.suppress(Killed):
            await self._message(self.harness.worker)
        for _ in range(40):
            self.harness.clock.forward(TIMEOUTS.lease + TIMEOUTS.patience)
            with contextlib.suppress(Killed, Transient):
                await self._go_on()
        return await self.harness.run()


class Promising(Life):
    """One call of a process that promises its result, and sends it until it is accepted."""

    def __init__(self, runs: Deadly, process: str, *, fast: bool) -> None:
        super().__init__(runs, new_run(robot=EQUIPPED))
        self._process, self._fast = process, fast
        self.calls, self.answers = list[tuple[str, str]](), list[CallbackReply]()

    async def step(self, run: Run, step: Step) -> Outcome:
        if isinstance(step, AskAgent) and step.phase is Phase.TASKS:
            return Planned([a_process_task(1, executor_id=self._process)], [])
        if isinstance(step, MakeCalls):
            key = step.uses[0].step_id
            self.calls.append((key, run.callbacks[0].id))
            if self._fast:
                await self._send(run)
            return Promised(id_of(step.of), key)
        return outcome_of(run, step)

    async def meanwhile(self, run: Run) -> None:
        if run.promised and not self._fast:
            await self._send(run)

    async def _send(self, run: Run) -> None:
        blobs = InMemoryBlobs()
        give = self.harness.sender()
        take = TakeResult(runs=self.harness.runs, blobs=blobs, send=give, clock=self.harness.clock)
        self.answers.append(await take(CallBack(callback_id=run.callbacks[0].id, output={"paid": True})))
        await give.idle()


class Giving(Life):
    """Its goals are to be given to another run, which another worker holds."""

    async def step(self, run: Run, step: Step) -> Outcome:
        if isinstance(step, CompareGoals):
            return GoalsCompared(MERGE)
        if isinstance(step, GiveGoals):
            unknown: Any = None
            announce: Any = self.harness.published
            return await MergeGoals(
                runs=self.harness.runs, ask=unknown, publisher=announce, clock=self.harness.clock
            ).give_goals(run, step.merge)
        return outcome_of(run, step)


async def test_a_promised_result_is_never_lost(subtests: pytest.Subtests) -> None:  # F9 TG-01
    for number, made, fast in product(range(1, WRITES + 1), [False, True], [False, True]):
        with subtests.test(number=number, made=made, fast=fast):
            runs = Deadly(number, made=made)
            life = Promising(runs, "crm.ping", fast=fast)
            run = await life.lived()
            (result,) = run.execution.results
            assert (run.execution.status, result.output and result.output.inline) == (
                ExecStatus.COMPLETED,
                '{"paid": true}',
            )
            assert len(set(life.calls)) == 1  # a repeated call has the same step and the same callback
            assert [fact for fact in life.harness.published.facts if fact.startswith("finished")] != []
            assert len(life.answers) - sum(answer.repeated for answer in life.answers) <= 1


async def test_a_call_that_may_not_be_made_again_is_made_once(subtests: pytest.Subtests) -> None:  # F1 # F9 TG-01
    for number, made, fast in product(range(1, WRITES + 1), [False, True], [False, True]):
        with subtests.test(number=number, made=made, fast=fast):
            life = Promising(Deadly(number, made=made), "crm.pay", fast=fast)
            run = await life.lived()
            (result,) = run.execution.results
            assert len(life.calls) <= 1
            asked = run.execution.question
            if asked is None:
                assert (run.execution.status, len(life.calls)) == (ExecStatus.COMPLETED, 1)
            else:  # the call's outcome is unknown, and its result was never sent
                assert asked.question.startswith("The outcome of crm.pay (call ")
                assert (run.execution.status, result.error) == (ExecStatus.WAITING, None)
                assert "parked" in {fact.split()[0] for fact in life.harness.published.facts}
                assert life.harness.runs._rows["e1"].inbox == ()


async def test_goals_are_given_once_and_surely(subtests: pytest.Subtests) -> None:  # F9 SC-13
    for number, made in product(range(1, WRITES + 1), [False, True]):
        with subtests.test(number=number, made=made):
            runs = Deadly(number, made=made)
            life = Giving(runs, new_run(robot=deduping()))
            other = an_earlier("e0")
            assert await InMemoryRuns.create(runs, other, owner="another", lease=timedelta(days=365)) == 1
            run = await life.lived()
            assert (run.execution.status, run.execution.skipped) == (
                ExecStatus.COMPLETED,
                "merged into e0: it is at it",
            )
            assert [(word.text(), word.merged) for word in runs._rows["e0"].inbox] == [("the rest", "e1")]
            assert life.harness.published.facts.count("intervened goal.add") >= 1


async def test_a_run_has_no_more_writes_than_the_tests_kill_at() -> None:
    runs = Deadly(10_000, made=True)
    await Promising(runs, "crm.pay", fast=False).lived()
    assert 10_000 - runs.left <= WRITES
