"""Robots' clocks in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from scheduler.domain.clock_state import Change, ClockState, MissedFact
from scheduler.domain.robot_summary import Key


class InMemoryClocks:
    """`unreadable`: clocks that another version wrote."""

    def __init__(self) -> None:
        self.unreadable: set[Key] = set()
        self._states: dict[Key, ClockState] = {}
        self._facts: dict[tuple[Key, int], MissedFact] = {}

    async def revs(self) -> dict[Key, int]:
        return {key: state.rev for key, state in self._states.items()}

    async def find(self, keys: Sequence[Key]) -> dict[Key, ClockState]:
        return {key: self._states[key] for key in keys if key in self._states and key not in self.unreadable}

    async def write(self, changes: Sequence[Change]) -> int:
        return sum(self._write(change) for change in changes)

    def _write(self, change: Change) -> bool:
        new, stored = change.new, self._states.get(change.new.key)
        if not _at_same_position(change.old, stored):
            return False
        if stored is None:
            self._states[new.key] = new
            return True
        for number, missed in enumerate(change.missed, stored.missed_facts + 1):
            if change.at is None:
                raise ValueError(f"{new.key}: expected the time of a change with missed runs")
            self._facts[new.key, number] = MissedFact(new.key, number, missed, change.at)
        self._states[new.key] = replace(new, missed_facts=stored.missed_facts + len(change.missed))
        return True

    async def remove(self, revs: Mapping[Key, int]) -> None:
        for key, rev in revs.items():
            if key in self._states and self._states[key].rev <= rev:
                del self._states[key]
                self._facts = {name: fact for name, fact in self._facts.items() if fact.key != key}

    async def due(self, now: datetime, limit: int) -> list[ClockState]:
        readable = [state for key, state in self._states.items() if key not in self.unreadable]
        found = [(state.check_at, state) for state in readable if state.check_at is not None]
        due = sorted(((at, state) for at, state in found if at <= now), key=lambda each: each[0])
        return [state for _, state in due][:limit]

    async def unpublished(self, limit: int) -> list[MissedFact]:
        keys = list(dict.fromkeys(fact.key for fact in self._facts.values()))[:limit]
        return [fact for fact in self._facts.values() if fact.key in keys]

    async def mark_published(self, facts: Sequence[MissedFact]) -> None:
        for fact in facts:
            self._facts.pop((fact.key, fact.number), None)


def _at_same_position(old: ClockState | None, stored: ClockState | None) -> bool:
    """Has no other replica moved the clock?"""
    if old is None or stored is None:
        return old is stored
    position, expected = ((each.rev, each.next_run, each.check_at, each.running) for each in (stored, old))
    return position == expected
