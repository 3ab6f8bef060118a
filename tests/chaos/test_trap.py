"""Kills lie in wait for a step: one kill, at that step alone, and inside it if that is wanted."""

import asyncio

from tests.chaos.trap import Ambush, Signals


async def until_waiting(signals: Signals, ambush: Ambush, *, timeout: float = 5) -> "asyncio.Task[object]":
    """The task that lies in wait; it has begun when this returns."""
    task: asyncio.Task[object] = asyncio.create_task(signals.struck(ambush, timeout=timeout))
    await asyncio.sleep(0)
    return task


async def test_the_first_at_the_step_is_struck_and_nobody_after() -> None:
    signals, blows = Signals(), list[str]()
    waiting = await until_waiting(signals, Ambush("mail", lambda: blows.append("struck")))
    for step, lead in (("webhook", "a"), ("mail", "b"), ("mail", "c")):
        await signals.reached(step, lead)
    blow = await waiting
    assert blows == ["struck"]
    assert getattr(blow, "lead", None) == "b"


async def test_whoever_is_struck_inside_its_step_goes_on_after_the_blow() -> None:
    signals, order = Signals(), list[str]()
    waiting = await until_waiting(signals, Ambush("mail", lambda: order.append("struck"), delay=0.01))
    await signals.reached("mail", "a")
    order.append("went on")
    await waiting
    assert order == ["struck", "went on"]


async def test_whoever_is_struck_after_its_step_is_not_held() -> None:
    signals, order = Signals(), list[str]()
    waiting = await until_waiting(signals, Ambush("mail", lambda: order.append("struck"), delay=0.01, inside=False))
    await signals.reached("mail", "a")
    order.append("went on")
    await waiting
    assert order == ["went on", "struck"]


async def test_who_waited_in_vain_strikes_nobody_later() -> None:
    signals, blows = Signals(), list[str]()
    assert await signals.struck(Ambush("mail", lambda: blows.append("struck")), timeout=0.01) is None
    await signals.reached("mail", "a")
    assert blows == []
