"""The runs in hand: a step can be interrupted, and what it was doing is cancelled; nothing else is (F11)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from services.executor.tests.fixtures import new_run
from services.executor.tests.harness import TIMEOUTS, HeldStep, WorkerHarness

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain.run import Run
from executor.domain.steps import AskAgent, RunTurn
from executor.runs.active_runs import ActiveRuns, StepCancelled
from rota_contracts.messages.execution import ExecStatus


class Source:
    """Gives one number, then takes its time; `ended` says how it was left."""

    def __init__(self) -> None:
        self.waiting, self.go = asyncio.Event(), asyncio.Event()
        self.ended = ""

    async def __call__(self) -> AsyncIterator[int]:
        try:
            yield 1
            self.waiting.set()
            await self.go.wait()
            yield 2
            self.ended = "at its end"
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise


async def with_outcome(active: ActiveRuns, source: Source, run_id: str = "e1") -> list[object]:
    found: list[object] = []
    try:
        async for item in active.cancellable(run_id, source()):
            found.append(item)
    except StepCancelled:
        found.append("interrupted")
    return found


async def test_an_uncancelled_step_yields_all_its_items() -> None:
    active, source = ActiveRuns(), Source()
    source.go.set()
    with active.holding("e1"):
        assert await with_outcome(active, source) == [1, 2]
    assert source.ended == "at its end"


async def test_an_interruption_cancels_what_is_in_flight_and_keeps_what_came() -> None:  # EX-42 F11
    active, source = ActiveRuns(), Source()
    with active.holding("e1"):
        taking = asyncio.create_task(with_outcome(active, source))
        await source.waiting.wait()
        active.cancel_step("e1")
        assert await taking == [1, "interrupted"]
        assert source.ended == "cancelled"
        second = Source()
        second.go.set()
        assert await with_outcome(active, second) == [1, 2]  # only the step in hand was meant


async def test_the_cancellation_of_another_runs_step_has_no_effect() -> None:
    active, source = ActiveRuns(), Source()
    with active.holding("e1"), active.holding("e2"):
        taking = asyncio.create_task(with_outcome(active, source))
        await source.waiting.wait()
        active.cancel_step("e2")
        active.cancel_step("unknown")
        source.go.set()
        assert await taking == [1, 2]


async def test_the_workers_own_end_passes_through_and_cancels_what_is_in_flight() -> None:
    active, source = ActiveRuns(), Source()
    with active.holding("e1"):
        taking = asyncio.create_task(with_outcome(active, source))
        await source.waiting.wait()
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
    assert source.ended == "cancelled"


async def test_a_failure_comes_out_as_it_is() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("a bug")

    active = ActiveRuns()
    with active.holding("e1"), pytest.raises(ValueError, match="a bug"):
        async for _ in active.cancellable("e1", failing()):
            pass


async def test_an_old_claim_that_ends_leaves_the_new_one_interruptible() -> None:
    active, source = ActiveRuns(), Source()
    old = active.holding("e1")
    old.__enter__()
    with active.holding("e1"):  # taken again by this very process, which had slept through its claim
        old.__exit__(None, None, None)
        taking = asyncio.create_task(with_outcome(active, source))
        await source.waiting.wait()
        active.cancel_step("e1")
        assert await taking == [1, "interrupted"]


async def test_a_stop_cancels_the_current_step_and_is_applied_at_once() -> None:  # EX-42 F11
    harness = WorkerHarness()
    held = HeldStep(harness, RunTurn)
    working = asyncio.create_task(harness.worker.start(new_run()))
    await held.reached.wait()
    await harness.signal("stop", reason="wrong customer")
    await asyncio.wait_for(working, 5)
    assert held.cancelled
    assert (await harness.run()).execution.error == "wrong customer"
    assert harness.published.facts[-1] == "finished cancelled"


async def test_a_pause_takes_effect_after_the_current_step() -> None:  # DEC-16
    harness = WorkerHarness()
    held = HeldStep(harness, RunTurn)
    working = asyncio.create_task(harness.worker.start(new_run()))
    await held.reached.wait()
    await harness.signal("pause")
    assert not held.cancelled
    held.go.set()
    await asyncio.wait_for(working, 5)
    run = await harness.run()
    assert (run.execution.status, harness.steps[-2:], harness.published.facts[-1]) == (
        ExecStatus.PAUSED,
        ["RunTurn", "CheckRules"],  # without a rule, no service is asked
        "parked 1",
    )
    await harness.signal("resume")
    assert harness.published.facts[-1] == "asked slot 1"
    await harness.worker.resume("e1", grant=1)
    assert harness.steps.count("RunTurn") == 1
    assert "started 1" in harness.published.facts


class Interrupting(InMemoryRuns):
    """A signal just before the run is released for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.harness: WorkerHarness | None = None

    async def release(self, run: Run, epoch: int, *, check_in: timedelta | None) -> Run:
        if self.harness is not None:
            harness, self.harness = self.harness, None
            await harness.signal("stop", sender=harness.sender(harness.new_worker("second")))
        return await super().release(run, epoch, check_in=check_in)


async def test_a_signal_during_the_release_is_applied_before_anything_is_published() -> None:
    runs = Interrupting()
    runs.harness = harness = WorkerHarness(runs=runs)
    await harness.worker.start(new_run())
    assert "asked delivery 1" not in harness.published.facts
    assert harness.published.facts[-1] == "finished cancelled"


async def test_a_parked_run_is_not_swept_until_it_is_signalled() -> None:
    harness = WorkerHarness()
    held = HeldStep(harness, AskAgent)
    working = asyncio.create_task(harness.worker.start(new_run()))
    await held.reached.wait()
    await harness.signal("pause")
    held.go.set()
    await working
    harness.clock.forward(30 * 24 * 3600)
    assert await harness.overdue() == []
    harness.published.unavailable = {"parked 1"}  # a repeated publication fails, which the next check finds
    await harness.signal("pause")
    assert await harness.overdue() == []
    harness.clock.forward(TIMEOUTS.patience)
    assert await harness.overdue() == ["e1"]
