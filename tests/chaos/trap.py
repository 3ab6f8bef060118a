"""Traps: the steps that executions reach, and the one kill that waits for a step."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(frozen=True)
class Hit:
    """A kill. `at` on the monotonic clock; `lead` is the execution whose step it hit, if that is known."""

    at: float
    lead: str


@dataclass
class Trap:
    """`kill` kills at once. `delay` in seconds; `inside`: the step is held until the kill."""

    step: str
    kill: Callable[[], None]
    delay: float = 0.0
    inside: bool = True
    sprung: asyncio.Event = field(default_factory=asyncio.Event)
    hit: Hit | None = None


class Traps:
    """At most one trap is set at a time."""

    def __init__(self) -> None:
        self._trap: Trap | None = None
        self._springing: set[asyncio.Task[None]] = set()

    async def catch(self, trap: Trap, *, timeout: float) -> Hit | None:
        """Set the trap for `timeout` seconds; None if no execution reached its step."""
        self._trap = trap
        try:
            await asyncio.wait_for(trap.sprung.wait(), timeout)
        except TimeoutError:
            if self._trap is trap:
                self._trap = None
                return None
            await trap.sprung.wait()  # it is about to spring
        return trap.hit

    async def reached(self, step: str, lead: str) -> None:
        """Report that an execution is at a step, before anything else; returns at once unless a trap is set for it."""
        trap = self._trap
        if trap is None or trap.step != step:
            return
        self._trap = None
        if trap.inside:
            await _spring(trap, lead)
        else:
            task = asyncio.create_task(_spring(trap, lead))
            self._springing.add(task)
            task.add_done_callback(self._springing.discard)


async def _spring(trap: Trap, lead: str) -> None:
    if trap.delay:
        await asyncio.sleep(trap.delay)
    try:
        trap.kill()
        trap.hit = Hit(monotonic(), lead)
    finally:
        trap.sprung.set()
