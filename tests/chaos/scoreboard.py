"""The scoreboard: the webhooks that were accepted and the executions that ended, by the sender and the bus."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from time import monotonic


@dataclass
class Entry:
    """One webhook. Times on the monotonic clock; `status` and `error` are those of `execution.finished`."""

    lead: str
    robot: str
    posted_at: float
    accepted: bool = False
    trigger_id: str = ""
    execution_id: str = ""
    status: str = ""
    error: str = ""
    ended_at: float | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Scoreboard:
    """An execution may end before the sender receives its acceptance: then its end waits here for its lead.
    `questions`: by execution, what it asked about a call of unknown outcome."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.last_end = monotonic()
        self.two_executions: list[str] = []
        self._by_execution: dict[str, Entry] = {}
        self._ends: dict[str, tuple[float, str, str]] = {}
        self.questions: dict[str, str] = {}

    def posted(self, lead: str, robot: str) -> Entry:
        entry = self.entries[lead] = Entry(lead, robot, monotonic())
        return entry

    def accepted(self, lead: str, trigger_id: str, execution_id: str) -> None:
        entry = self.entries[lead]
        if entry.accepted and entry.execution_id != execution_id:
            self.two_executions.append(f"{lead}: {entry.execution_id} and {execution_id}")
        entry.accepted = True
        entry.trigger_id, entry.execution_id = trigger_id, execution_id
        self._by_execution[execution_id] = entry
        if end := self._ends.pop(execution_id, None):
            self._end(entry, *end)

    def ended(self, execution_id: str, status: str, error: str) -> None:
        """Repeated calls change nothing."""
        now, entry = monotonic(), self._by_execution.get(execution_id)
        if entry is None:
            self._ends.setdefault(execution_id, (now, status, error))
        elif entry.ended_at is None:
            self._end(entry, now, status, error)

    def asked(self, execution_id: str, question: str) -> None:
        """It waits for a person: its end is due once that is answered."""
        self.questions[execution_id] = question

    def has_ended(self, execution_id: str) -> bool:
        entry = self._by_execution.get(execution_id)
        return execution_id in self._ends or (entry is not None and entry.ended_at is not None)

    def lead_of(self, execution_id: str) -> str:
        """Empty while it is unknown."""
        entry = self._by_execution.get(execution_id)
        return entry.lead if entry else ""

    def in_flight(self) -> list[Entry]:
        """Accepted and not ended, oldest first."""
        return [entry for entry in self.entries.values() if entry.accepted and entry.ended_at is None]

    def counts(self) -> Counter[str]:
        entries = self.entries.values()
        return Counter(
            posted=len(entries),
            accepted=sum(entry.accepted for entry in entries),
            ended=sum(entry.accepted and entry.ended_at is not None for entry in entries),
        )

    def _end(self, entry: Entry, at: float, status: str, error: str) -> None:
        entry.ended_at = at
        entry.status, entry.error = status, error
        self.last_end = max(self.last_end, at)
        entry.over.set()
