"""Hooks and checks of a service, and what comes of those that fail."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

Hook = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Failure:
    """`text` is the driver's."""

    kind: str
    text: str


async def failure_of(check: Hook, *, timeout: float = 2) -> Failure | None:
    """Why `check` fails, or None."""
    try:
        await asyncio.wait_for(check(), timeout)
    except TimeoutError:
        late = f"no answer within {timeout:g} s"
        return Failure(late, late)
    except Exception as error:  # whatever it is, the answer is "not ready, because of this"
        return Failure(type(error).__name__, f"{type(error).__name__}: {error}")
    return None


async def run_all(hooks: Sequence[Hook]) -> None:
    """One after another, whatever becomes of those before."""
    for hook in hooks:
        with contextlib.suppress(Exception):  # one that fails must not keep the others from closing
            await hook()
