"""Middlewares around every handler of a service. Chaos is one of them, so production and tests run the same code."""

from collections.abc import Awaitable, Callable, Sequence
from functools import reduce
from typing import Any

AnyHandler = Callable[[Any], Awaitable[Any]]
Middleware = Callable[[AnyHandler], AnyHandler]


def wrap(handler: AnyHandler, middlewares: Sequence[Middleware]) -> AnyHandler:
    """`handler` inside `middlewares`; the first is the outermost."""
    return reduce(lambda inner, middleware: middleware(inner), reversed(middlewares), handler)
