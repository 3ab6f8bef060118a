"""Chaos as middlewares: seeded, so that a failing run can be repeated."""

from random import Random
from typing import Any

from rota_common.middlewares import AnyHandler


class InjectedFailure(Exception):
    """Made on purpose; to the failure policy it looks like a bug."""


def twice(handler: AnyHandler) -> AnyHandler:
    """Everything happens twice, as a redelivery after a lost acknowledgement would make it."""

    async def doubled(message: Any) -> Any:
        await handler(message)
        return await handler(message)

    return doubled


def failing(probability: float, random: Random) -> Any:
    """A middleware that fails before or after the handler; "after" finds the bugs."""

    def middleware(handler: AnyHandler) -> AnyHandler:
        async def shaky(message: Any) -> Any:
            if random.random() < probability / 2:
                raise InjectedFailure("before")
            result = await handler(message)
            if random.random() < probability / 2:
                raise InjectedFailure("after")
            return result

        return shaky

    return middleware
