"""Kills lie in wait for a step: one kill, at that step alone, and inside it if that is wanted."""

import asyncio

from tests.chaos.trap import Trap, Traps


async def set_trap(traps: Traps, trap: Trap, *, timeout: float = 5) -> "asyncio.Task[object]":
    """The task that lies in wait; it has begun when this returns."""
    task: asyncio.Task[object] = asyncio.create_task(traps.catch(trap, timeout=timeout))
    await asyncio.sleep(0)
    return task


async def test_the_first_execution_at_the_step_is_hit_alone() -> None:
    traps, hits = Traps(), list[str]()
    waiting = await set_trap(traps, Trap("mail", lambda: hits.append("killed")))
    for step, lead in (("webhook", "a"), ("mail", "b"), ("mail", "c")):
        await traps.reached(step, lead)
    hit = await waiting
    assert hits == ["killed"]
    assert getattr(hit, "lead", None) == "b"


async def test_a_step_hit_inside_goes_on_after_the_kill() -> None:
    traps, order = Traps(), list[str]()
    waiting = await set_trap(traps, Trap("mail", lambda: order.append("killed"), delay=0.01))
    await traps.reached("mail", "a")
    order.append("went on")
    await waiting
    assert order == ["killed", "went on"]


async def test_a_step_hit_afterwards_is_not_held() -> None:
    traps, order = Traps(), list[str]()
    waiting = await set_trap(traps, Trap("mail", lambda: order.append("killed"), delay=0.01, inside=False))
    await traps.reached("mail", "a")
    order.append("went on")
    await waiting
    assert order == ["went on", "killed"]


async def test_an_expired_trap_kills_nothing() -> None:
    traps, hits = Traps(), list[str]()
    assert await traps.catch(Trap("mail", lambda: hits.append("killed")), timeout=0.01) is None
    await traps.reached("mail", "a")
    assert hits == []
