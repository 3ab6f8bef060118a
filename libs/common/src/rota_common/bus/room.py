"""The room for new work: none while the bus is nearly full, or for a team that takes its share of it."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, TypeVar

from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from rota_common.bus.connection import Bus
from rota_common.bus.stream_usage import TEXTS_STREAM, Usage, kept_texts, read_usage, waiting_triggers
from rota_common.errors import Transient
from rota_common.runtime import metrics
from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.streams import MIB, REFUSE_AT, TEAM_SHARE

MEASURE_EVERY_S, TEXTS_EVERY_S = 1.0, 30.0
TRIGGERS_AGAIN_S, TEXTS_AGAIN_S = 5, 600
"""Seconds until a team that was refused may find room: triggers wait for moments, texts are kept for days."""

Found = TypeVar("Found")
SIZES_KEPT = 10_000
WEIGHT = 1 / 16
"""Of a team's newest trigger in the mean size of its triggers."""


class BusUsage(Protocol):
    """What streams and buckets hold. Raises Transient when NATS is away."""

    async def read(self) -> list[Usage]: ...

    async def waiting(self) -> Counter[str]:
        """The triggers of each team that the scheduler hasn't taken yet."""
        ...

    async def texts(self) -> Counter[str]:
        """The chunks of long texts that the executions of each team keep."""
        ...


@dataclass(frozen=True)
class NatsUsage:
    """The usage of the bus, as its server reports it."""

    bus: Bus

    async def read(self) -> list[Usage]:
        return await self._asked(read_usage)

    async def waiting(self) -> Counter[str]:
        return await self._asked(waiting_triggers)

    async def texts(self) -> Counter[str]:
        return await self._asked(kept_texts)

    async def _asked(self, read: Callable[[JetStreamContext], Awaitable[Found]]) -> Found:
        """Without a connection the client would wait, and the caller with it."""
        if not self.bus.connected:
            raise Transient("NATS: not connected")
        try:
            return await read(self.bus.jetstream)
        except NatsError as error:
            raise Transient(f"NATS: {type(error).__name__}") from error


@dataclass(frozen=True)
class OverShare:
    """What a team has that is all that one team may, and the seconds until there may be room again."""

    what: str
    again_after: int


@dataclass(kw_only=True)
class BusRoom:
    """Knows what the last `measure` found. `refusal`: why no new work is taken, empty while it is. `degraded` is for
    people: part → how full it is.

    A stream counts messages by subject, but not their bytes: those of a team are its waiting triggers times their mean
    size, as far as this replica has seen them, and its chunks of long texts times the mean size of all chunks.
    """

    usage: BusUsage
    degraded: dict[str, str] = field(default_factory=dict)
    refusal: str = field(default="", init=False)
    _share: float = field(default=float("inf"), init=False)
    _held: dict[str, float] = field(default_factory=dict, init=False)
    _sizes: dict[str, float] = field(default_factory=dict, init=False)
    _texts: dict[str, float] = field(default_factory=dict, init=False)
    _texts_at: float = field(default=float("-inf"), init=False)

    async def measure(self) -> None:
        try:
            found = {usage.stream: usage for usage in await self.usage.read()}
            triggers = found.get(TRIGGER_RECEIVED.stream or "")
            if triggers is not None:
                await self._measure_teams(triggers)
            if (texts := found.get(TEXTS_STREAM)) is not None:
                await self._measure_texts(texts)
        except Transient:  # nothing can be published either
            return
        for usage in found.values():
            metrics.STREAM_BYTES.labels(usage.stream).set(usage.used)
            metrics.STREAM_MAX_BYTES.labels(usage.stream).set(usage.max_bytes)
            metrics.STREAM_MESSAGES.labels(usage.stream).set(usage.messages)
        full = [usage for usage in found.values() if usage.nearly_full]
        self.refusal = ", ".join(f"{usage.part} holds {usage}" for usage in full if usage.needed)
        self.degraded.clear()
        self.degraded |= {usage.part: f"it holds {usage}{_effect(usage)}" for usage in full}

    async def _measure_teams(self, triggers: Usage) -> None:
        self._share = triggers.max_bytes * TEAM_SHARE
        if triggers.used < self._share:  # no team can have more than all
            self._held = {}
            return
        mean, waiting = triggers.used / max(triggers.messages, 1), await self.usage.waiting()
        self._held = {team: count * self._sizes.get(team, mean) for team, count in waiting.items()}

    async def _measure_texts(self, texts: Usage) -> None:
        """Those teams whose texts take their share. They are counted rarely: there are many, and they stay for long."""
        share = texts.max_bytes * TEAM_SHARE
        if texts.used < share:
            self._texts = {}
        elif monotonic() >= self._texts_at + TEXTS_EVERY_S:
            mean, counts = texts.used / max(texts.messages, 1), await self.usage.texts()
            self._texts = {team: count * mean for team, count in counts.items() if count * mean >= share}
            self._texts_at = monotonic()

    def over_share(self, team: str) -> OverShare | None:
        """What of the team takes all that one team may; None while nothing does."""
        held = self._held.get(team, 0.0)
        if held >= self._share:
            return OverShare(f"triggers of about {held / MIB:.4g} MiB that wait", TRIGGERS_AGAIN_S)
        if kept := self._texts.get(team):
            return OverShare(f"executions that keep long texts of about {kept / MIB:.4g} MiB", TEXTS_AGAIN_S)
        return None

    def count(self, team: str, size: int) -> None:
        """A trigger of this size was published."""
        self._held[team] = self._held.get(team, 0.0) + size
        if len(self._sizes) >= SIZES_KEPT and team not in self._sizes:
            self._sizes.clear()
        mean = self._sizes.get(team, float(size))
        self._sizes[team] = mean + (size - mean) * WEIGHT


def _effect(usage: Usage) -> str:
    return f": no new work begins until it is below {REFUSE_AT:.0%}" if usage.needed else ""
