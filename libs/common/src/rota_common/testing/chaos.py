"""Chaos as middlewares: seeded, so that a failing run is repeatable."""

from collections import Counter
from random import Random
from typing import Any

from rota_common.bus.middlewares import AnyHandler
from rota_contracts.envelope import Event


class InjectedFailure(Exception):
    """An intended failure; the failure policy treats it as a bug."""


def twice(handler: AnyHandler) -> AnyHandler:
    """Handle everything twice, as after a lost acknowledgement."""

    async def doubled(message: Any) -> Any:
        await handler(message)
        return await handler(message)

    return doubled


def failing(probability: float, random: Random) -> Any:
    """A middleware that fails before or after the handler; "after" finds the bugs.

    An event fails twice at most, and a request once: an event that fails in each of its five tries is buried, as it
    should be, and its handler fails with each of its requests.
    """
    failures = Counter[str]()

    def middleware(handler: AnyHandler) -> AnyHandler:
        async def shaky(message: Any) -> Any:
            name, most = (message.id, 2) if isinstance(message, Event) else (repr(message), 1)

            def fail(when: str) -> None:
                if failures[name] < most and random.random() < probability / 2:
                    failures[name] += 1
                    raise InjectedFailure(when)

            fail("before")
            result = await handler(message)
            fail("after")
            return result

        return shaky

    return middleware
