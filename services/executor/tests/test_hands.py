"""The runs in hand: a step can be interrupted, and what it was doing is cancelled; nothing else is (F11)."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import pytest
from services.executor.tests.desk import PACE, Desk, Held
from services.executor.tests.lives import begun

from executor.active_runs import ActiveRuns, StepCancelled
from executor.adapters.fakes import InMemoryRuns
from executor.domain.run import Run
from executor.domain.steps import AskAgent, RunTurn
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


async def taken(hands: ActiveRuns, source: Source, run_id: str = "e1") -> list[object]:
    found: list[object] = []
    try:
        async for item in hands.interruptible(run_id, source()):
            found.append(item)
    except StepCancelled:
        found.append("interrupted")
    return found


async def test_what_nobody_interrupts_comes_as_it_is() -> None:
    hands, source = ActiveRuns(), Source()
    source.go.set()
    with hands.holding("e1"):
        assert await taken(hands, source) == [1, 2]
    assert source.ended == "at its end"


async def test_an_interruption_cancels_what_is_in_flight_and_keeps_what_came() -> None:  # F11
    hands, source = ActiveRuns(), Source()
    with hands.holding("e1"):
        taking = asyncio.create_task(taken(hands, source))
        await source.waiting.wait()
        hands.interrupt("e1")
        assert await taking == [1, "interrupted"]
        assert source.ended == "cancelled"
        second = Source()
        second.go.set()
        assert await taken(hands, second) == [1, 2]  # only the step in hand was meant


async def test_an_interruption_of_another_run_is_not_heard() -> None:
    hands, source = ActiveRuns(), Source()
    with hands.holding("e1"), hands.holding("e2"):
        taking = asyncio.create_task(taken(hands, source))
        await source.waiting.wait()
        hands.interrupt("e2")
        hands.interrupt("nobody")
        source.go.set()
        assert await taking == [1, 2]


async def test_the_workers_own_end_passes_through_and_cancels_what_is_in_flight() -> None:
    hands, source = ActiveRuns(), Source()
    with hands.holding("e1"):
        taking = asyncio.create_task(taken(hands, source))
        await source.waiting.wait()
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
    assert source.ended == "cancelled"


async def test_a_failure_comes_out_as_it_is() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise ValueError("a bug")

    hands = ActiveRuns()
    with hands.holding("e1"), pytest.raises(ValueError, match="a bug"):
        async for _ in hands.interruptible("e1", failing()):
            pass


async def test_an_old_claim_that_ends_leaves_the_new_one_interruptible() -> None:
    hands, source = ActiveRuns(), Source()
    old = hands.holding("e1")
    old.__enter__()
    with hands.holding("e1"):  # taken again by this very process, which had slept through its claim
        old.__exit__(None, None, None)
        taking = asyncio.create_task(taken(hands, source))
        await source.waiting.wait()
        hands.interrupt("e1")
        assert await taking == [1, "interrupted"]


async def test_a_stop_ends_the_step_in_hand_and_is_heard_at_once() -> None:  # F11
    desk = Desk()
    held = Held(desk, RunTurn)
    working = asyncio.create_task(desk.drive.start(begun()))
    await held.reached.wait()
    await desk.say("stop", reason="wrong customer")
    await asyncio.wait_for(working, 5)
    assert held.cancelled
    assert (await desk.found()).execution.error == "wrong customer"
    assert desk.told.facts[-1] == "finished cancelled"


async def test_a_pause_lets_the_step_in_hand_end_and_holds_then() -> None:  # DEC-16
    desk = Desk()
    held = Held(desk, RunTurn)
    working = asyncio.create_task(desk.drive.start(begun()))
    await held.reached.wait()
    await desk.say("pause")
    assert not held.cancelled
    held.go.set()
    await asyncio.wait_for(working, 5)
    run = await desk.found()
    assert (run.execution.status, desk.steps[-1], desk.told.facts[-1]) == (ExecStatus.PAUSED, "RunTurn", "parked 1")
    await desk.say("resume")
    assert desk.told.facts[-1] == "asked slot 1"
    await desk.drive.resume("e1", grant=1)
    assert desk.steps.count("RunTurn") == 1
    assert "started 1" in desk.told.facts


class Interrupting(InMemoryRuns):
    """Somebody says a word just before the run is let go for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.desk: Desk | None = None

    async def release(self, run: Run, epoch: int, *, check_at: datetime | None) -> Run:
        if self.desk is not None:
            desk, self.desk = self.desk, None
            await desk.say("stop", give=desk.giving(desk.worker("second")))
        return await super().release(run, epoch, check_at=check_at)


async def test_a_word_that_comes_as_a_run_is_let_go_is_heard_before_anything_is_told() -> None:
    runs = Interrupting()
    runs.desk = desk = Desk(runs=runs)
    await desk.drive.start(begun())
    assert "asked delivery 1" not in desk.told.facts
    assert desk.told.facts[-1] == "finished cancelled"


async def test_a_parked_run_is_looked_at_by_nobody_until_it_is_told_something() -> None:
    desk = Desk()
    held = Held(desk, AskAgent)
    working = asyncio.create_task(desk.drive.start(begun()))
    await held.reached.wait()
    await desk.say("pause")
    held.go.set()
    await working
    desk.clock.forward(30 * 24 * 3600)
    assert await desk.overdue() == []
    desk.told.away = {"parked 1"}  # a repeat of what was told already fails: that is found out by the next look
    await desk.say("pause")
    assert await desk.overdue() == []
    desk.clock.forward(PACE.patience)
    assert await desk.overdue() == ["e1"]
