"""Where parties and bus say which step an execution has come to, and where at most one kill lies in wait."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(frozen=True)
class Blow:
    """`at` on the monotonic clock; `lead` is the execution at whose step it fell, if that is known."""

    at: float
    lead: str


@dataclass
class Ambush:
    """`strike` kills, at once. `delay` in seconds; `inside`: who reached the step answers only after the blow."""

    step: str
    strike: Callable[[], None]
    delay: float = 0.0
    inside: bool = True
    fallen: asyncio.Event = field(default_factory=asyncio.Event)
    blow: Blow | None = None


class Signals:
    def __init__(self) -> None:
        self._ambush: Ambush | None = None
        self._falling: set[asyncio.Task[None]] = set()

    async def struck(self, ambush: Ambush, *, timeout: float) -> Blow | None:
        """Lie in wait for `timeout` seconds; None if nobody came to this step."""
        self._ambush = ambush
        try:
            await asyncio.wait_for(ambush.fallen.wait(), timeout)
        except TimeoutError:
            if self._ambush is ambush:
                self._ambush = None
                return None
            await ambush.fallen.wait()  # it is just about to fall
        return ambush.blow

    async def reached(self, step: str, lead: str) -> None:
        """Whoever sees an execution at a step says so before anything else; returns at once unless a kill waits."""
        ambush = self._ambush
        if ambush is None or ambush.step != step:
            return
        self._ambush = None
        if ambush.inside:
            await _fall(ambush, lead)
        else:
            task = asyncio.create_task(_fall(ambush, lead))
            self._falling.add(task)
            task.add_done_callback(self._falling.discard)


async def _fall(ambush: Ambush, lead: str) -> None:
    if ambush.delay:
        await asyncio.sleep(ambush.delay)
    try:
        ambush.strike()
        ambush.blow = Blow(monotonic(), lead)
    finally:
        ambush.fallen.set()
