"""The messages that the dispatcher has in flight."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from rota_contracts.messages.trigger import TriggerReceivedV1
from scheduler.dispatching.decide import IncomingEvent, Snapshot


@dataclass
class Item:
    """A message in flight; its handler waits for `done` before the message is acknowledged."""

    event: IncomingEvent
    done: asyncio.Future[None]


def has_failed(item: Item, snapshot: Snapshot) -> bool:
    """A trigger whose robot can't be read fails alone, not with the whole batch."""
    event = item.event
    problem = snapshot.problem(event.data) if isinstance(event.data, TriggerReceivedV1) else None
    if problem is not None and not item.done.done():
        item.done.set_exception(problem)
    return problem is not None


def finish(items: Sequence[Item], error: BaseException | None) -> None:
    for item in items:
        if item.done.done():
            continue
        if error is None:
            item.done.set_result(None)
        else:
            item.done.set_exception(error)
