"""Versions of a fact: how a reader of one reads those before, while they are still published."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rota_contracts.envelope import Event
from rota_contracts.model import Payload

if TYPE_CHECKING:
    from rota_contracts.catalog import Channel

P = TypeVar("P", bound=Payload)
Upcast = Callable[[Event[Any]], Event[P]]


@dataclass(frozen=True)
class Upcaster(Generic[P]):
    """`older` is the channel of the version before, `convert` makes this version's payload of that one's."""

    older: "Channel[Any]"
    convert: Callable[[Any], P]

    def event(self, older: Event[Any]) -> Event[P]:
        """The same fact, with the same id."""
        return replace(older, data=self.convert(older.data))


def readings(channel: "Channel[P]") -> "Iterator[tuple[Channel[Any], Upcast[P]]]":
    """The channel, and those of the versions before that its upcasters read, each with what makes an event of this
    version of one of its own."""
    yield channel, _as_it_is
    if channel.upcaster is not None:
        for older, upcast in readings(channel.upcaster.older):
            yield older, _after(upcast, channel.upcaster.event)


def _as_it_is(event: Event[P]) -> Event[P]:
    return event


def _after(first: Upcast[Any], then: Upcast[P]) -> Upcast[P]:
    return lambda event: then(first(event))
