"""The door for new work: shut while the bus is nearly full, and for a team whose waiting triggers take its share."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from rota_common.bus.stream_usage import Usage
from rota_common.errors import Transient
from rota_common.runtime import metrics
from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.streams import MIB, REFUSE_AT, TEAM_SHARE
from trigger_gateway.problems import TooMany
from trigger_gateway.runs.ports import Triggers

AGAIN_AFTER_S = 30
TEAM_AGAIN_AFTER_S = 5
SIZES_KEPT = 10_000
WEIGHT = 1 / 16
"""Of a team's newest trigger in the mean size of its triggers."""


class BusUsage(Protocol):
    """What streams and buckets hold. Raises Transient when NATS is away."""

    async def read(self) -> list[Usage]: ...

    async def waiting(self) -> Counter[str]:
        """The triggers of each team that the scheduler hasn't taken yet."""
        ...


@dataclass(kw_only=True)
class AdmitWork:
    """Knows what the last `measure` found; `degraded` is for people: part → how full it is.

    A stream counts messages by subject, but not their bytes: those of a team are its waiting triggers times their mean
    size, as far as this replica has seen them.
    """

    usage: BusUsage
    degraded: dict[str, str] = field(default_factory=dict)
    _refusal: str = ""
    _share: float = float("inf")
    _held: dict[str, float] = field(default_factory=dict)
    _sizes: dict[str, float] = field(default_factory=dict)

    async def measure(self) -> None:
        try:
            found = {usage.stream: usage for usage in await self.usage.read()}
            triggers = found.get(TRIGGER_RECEIVED.stream or "")
            if triggers is not None:
                await self._measure_teams(triggers)
        except Transient:  # nothing can be published either
            return
        for usage in found.values():
            metrics.STREAM_BYTES.labels(usage.stream).set(usage.used)
            metrics.STREAM_MAX_BYTES.labels(usage.stream).set(usage.max_bytes)
        full = [usage for usage in found.values() if usage.nearly_full]
        self._refusal = ", ".join(f"{usage.part} holds {usage}" for usage in full if usage.needed)
        self.degraded.clear()
        self.degraded |= {usage.part: f"it holds {usage}{_effect(usage)}" for usage in full}

    async def _measure_teams(self, triggers: Usage) -> None:
        self._share = triggers.max_bytes * TEAM_SHARE
        if triggers.used < self._share:  # no team can have more than all
            self._held = {}
            return
        mean, waiting = triggers.used / max(triggers.messages, 1), await self.usage.waiting()
        self._held = {team: count * self._sizes.get(team, mean) for team, count in waiting.items()}

    def check(self, team: str) -> None:
        """Raise Transient while the bus is nearly full, TooMany while the team has its share of what waits."""
        if self._refusal:
            text = f"no new work is taken now, and what was accepted goes on: {self._refusal}"
            raise Transient(text, after=AGAIN_AFTER_S)
        if (held := self._held.get(team, 0.0)) >= self._share:
            text = (
                f"team {team} has triggers of about {held / MIB:.4g} MiB waiting, which is all that one team may:"
                f" send it again in {TEAM_AGAIN_AFTER_S} s"
            )
            raise TooMany("team_full", text, after=TEAM_AGAIN_AFTER_S)

    def count(self, team: str, size: int) -> None:
        """A trigger of this size was published."""
        self._held[team] = self._held.get(team, 0.0) + size
        if len(self._sizes) >= SIZES_KEPT and team not in self._sizes:
            self._sizes.clear()
        mean = self._sizes.get(team, float(size))
        self._sizes[team] = mean + (size - mean) * WEIGHT


@dataclass(frozen=True, kw_only=True)
class AdmittedTriggers:
    """Triggers that pass the door. With `patient` a team at its share has to wait, as everybody has to when the bus is
    nearly full: for senders that can't be refused."""

    triggers: Triggers
    admit: AdmitWork
    patient: bool = False

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        try:
            self.admit.check(trigger.team_id)
        except TooMany as full:
            if self.patient:
                raise Transient(full.message, after=full.after) from full
            raise
        new = await self.triggers.publish(trigger, trace=trace)
        if new:
            self.admit.count(trigger.team_id, len(trigger.model_dump_json()))
        return new


def _effect(usage: Usage) -> str:
    return f": new work is refused until it is below {REFUSE_AT:.0%}" if usage.needed else ""
