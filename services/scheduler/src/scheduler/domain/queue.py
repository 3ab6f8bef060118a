"""The queue: its entries, their states, and which of them get the next slots. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from rota_contracts.messages.trigger import RejectReason, TriggerType
from scheduler.domain.robot_summary import Key

TYPE_ORDER = {TriggerType.HUMAN: 0, TriggerType.CALLBACK: 1, TriggerType.EVENT: 1, TriggerType.CLOCK: 2}
AGE_PER_PRIORITY = timedelta(minutes=1)
"""The wait that is worth one step of priority."""

STARVING_AFTER = timedelta(minutes=10)
"""An entry that waited this long goes first, unless its team holds its share of the slots: nothing starves, and a
team that floods the queue can't displace the others by waiting."""

HEAD_START = timedelta(minutes=5)
"""A resumed execution counts as waiting since it arrived, but for no longer than this: it goes before its equals,
and never ahead of every team."""


class EntryState(StrEnum):
    """Of an entry of the queue. A due entry (by a clock) awaits its decision; admitted and running entries hold a slot;
    a parked one has begun and holds none."""

    DUE = "due"
    QUEUED = "queued"
    ADMITTED = "admitted"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    REJECTED = "rejected"


OVER = (EntryState.DONE, EntryState.REJECTED)


@dataclass(frozen=True)
class Entry:
    """One unfinished execution. `max_running` and `priority` are the robot's at its arrival.

    `parks`: how often it was parked so far; queued or holding a slot, it is the grant that it waits for or holds.
    `running`: an executor has started that grant.
    """

    execution_id: str
    team: str
    member: str
    type: TriggerType
    priority: int
    max_running: int
    queued_at: datetime
    admitted_at: datetime | None = None
    running: bool = False
    parks: int = 0

    @property
    def robot(self) -> Key:
        return self.team, self.member

    @property
    def has_begun(self) -> bool:
        return self.parks > 0

    @property
    def in_backlog(self) -> bool:
        """An accepted event that waits for its first slot, whatever its robot's quota."""
        return not self.has_begun and self.type.is_event


@dataclass(frozen=True)
class Refusal:
    """Why a trigger starts nothing."""

    reason: RejectReason
    message: str


@dataclass
class QueueState:
    """All that waits or holds a slot. Kept in memory by the dispatcher; loaded by its successor.

    Reports arrive twice, late and in any order. `parks` orders them: parked 1, resumable 1, parked 2 and so on; a
    report that isn't later than the entry's state changes nothing.

    By robot, of what waits for its first slot: `requests_of`, of people and clocks; `backlog_of`, accepted events.
    """

    queued: dict[str, Entry] = field(default_factory=dict)
    active: dict[str, Entry] = field(default_factory=dict)
    parked: dict[str, Entry] = field(default_factory=dict)
    requests_of: Counter[Key] = field(default_factory=Counter, compare=False)
    backlog_of: Counter[Key] = field(default_factory=Counter, compare=False)
    running_of: Counter[Key] = field(default_factory=Counter, compare=False)

    def __post_init__(self) -> None:
        if self.requests_of or self.backlog_of or self.running_of:
            return
        for entry in self.queued.values():
            self._count_queued(entry, 1)
        self.running_of.update(entry.robot for entry in self.active.values())

    def copy(self) -> "QueueState":
        """Its counters are copied, not counted anew: a backlog may be long."""
        counters = (+self.requests_of, +self.backlog_of, +self.running_of)
        return QueueState(dict(self.queued), dict(self.active), dict(self.parked), *counters)

    def by_state(self) -> Mapping[str, Mapping[str, Entry]]:
        return {"queued": self.queued, "active": self.active, "parked": self.parked}

    def put(self, entry: Entry, state: EntryState) -> None:
        """Add an entry in this state."""
        match state:
            case EntryState.QUEUED:
                self.queued[entry.execution_id] = entry
                self._count_queued(entry, 1)
            case EntryState.PARKED:
                self.parked[entry.execution_id] = entry
            case _:
                self.active[entry.execution_id] = entry
                self.running_of[entry.robot] += 1

    def waiting_robots(self) -> set[Key]:
        """The robots of what waits for its first slot."""
        return {robot for counter in (self.requests_of, self.backlog_of) for robot, count in counter.items() if count}

    def find(self, entry_id: str) -> Entry | None:
        return self.active.get(entry_id) or self.queued.get(entry_id) or self.parked.get(entry_id)

    def admit(self, entry_id: str, now: datetime) -> Entry:
        """Give a queued entry its slot."""
        entry = replace(self.queued[entry_id], admitted_at=now)
        self.remove(entry_id)
        self.put(entry, EntryState.ADMITTED)
        return entry

    def start(self, entry_id: str, grant: int) -> bool:
        """An executor has started this grant of a slot; False if that is known, or not the current grant."""
        entry = self.active.get(entry_id)
        if entry is None or entry.running or grant != entry.parks:
            return False
        self.active[entry_id] = replace(entry, running=True)
        return True

    def park(self, entry_id: str, parks: int) -> Entry | None:
        """Release the slot of an execution that can't go on. The entry afterwards; None if the report is late."""
        entry = self.find(entry_id)
        if entry is None or parks <= entry.parks:
            return None
        self.remove(entry_id)
        entry = replace(entry, parks=parks, admitted_at=None, running=False)
        self.put(entry, EntryState.PARKED)
        return entry

    def resume(self, entry_id: str, parks: int, now: datetime) -> Entry | None:
        """Queue an execution that can go on, whatever the robot's quota. The entry afterwards; None if the report is
        late."""
        entry = self.find(entry_id)
        if entry is None or parks < entry.parks or (parks == entry.parks and entry_id not in self.parked):
            return None
        self.remove(entry_id)
        since = max(entry.queued_at, now - HEAD_START)
        entry = replace(entry, parks=parks, queued_at=since, admitted_at=None, running=False)
        self.put(entry, EntryState.QUEUED)
        return entry

    def remove(self, entry_id: str) -> None:
        """The entry is over: it neither waits nor holds a slot."""
        if entry := self.queued.pop(entry_id, None):
            self._count_queued(entry, -1)
        if entry := self.active.pop(entry_id, None):
            self.running_of[entry.robot] -= 1
        self.parked.pop(entry_id, None)

    def remove_team(self, team: str) -> None:
        for entries in self.by_state().values():
            for entry in [each for each in entries.values() if each.team == team]:
                self.remove(entry.execution_id)

    def _count_queued(self, entry: Entry, by: int) -> None:
        if not entry.has_begun:
            counter = self.backlog_of if entry.in_backlog else self.requests_of
            counter[entry.robot] += by


def pick(queue_state: QueueState, *, pool: int, now: datetime, stopped: Collection[Key] = ()) -> list[Entry]:
    """The entries that get the free slots, best first; no robot exceeds its quota, nothing new starts at `stopped`.

    The team with the fewest running comes first, then priority, then human before event before clock, then age.
    """
    free = pool - len(queue_state.active)
    if free <= 0 or not queue_state.queued:
        return []
    running = Counter(entry.team for entry in queue_state.active.values())
    robots = Counter(queue_state.running_of)
    lines = _lines(queue_state, stopped)
    if not lines:
        return []
    share = pool / len(running.keys() | lines.keys())
    for name, line in lines.items():
        _line_up(line, now, helped=running[name] < share)
    chosen = list[Entry]()
    while len(chosen) < free and lines:
        team = min(lines, key=lambda name: _rank(lines[name][-1], running[name], share, now))
        best = lines[team].pop()
        chosen.append(best)
        running[team] += 1
        robots[best.robot] += 1
        if robots[best.robot] >= best.max_running:
            lines[team] = [entry for entry in lines[team] if entry.robot != best.robot]
        if running[team] - 1 < share <= running[team]:
            _line_up(lines[team], now, helped=False)
        if not lines[team]:
            del lines[team]
    return chosen


def _lines(queue_state: QueueState, stopped: Collection[Key]) -> dict[str, list[Entry]]:
    """Each team's entries that may get a slot."""
    lines = defaultdict[str, list[Entry]](list)
    for entry in queue_state.queued.values():
        held = entry.robot in stopped and not entry.has_begun
        if not held and queue_state.running_of[entry.robot] < entry.max_running:
            lines[entry.team].append(entry)
    return lines


def _line_up(line: list[Entry], now: datetime, *, helped: bool) -> None:
    """The best last. `helped`: the team holds less than its share, so entries that waited too long go first."""
    line.sort(key=lambda entry: (not (helped and now - entry.queued_at >= STARVING_AFTER), *_merit(entry, now)))
    line.reverse()


def _rank(entry: Entry, team_running: int, share: float, now: datetime) -> tuple[bool, int, float, int, datetime]:
    starves = now - entry.queued_at >= STARVING_AFTER and team_running < share
    return (not starves, team_running, *_merit(entry, now))


def _merit(entry: Entry, now: datetime) -> tuple[float, int, datetime]:
    aged = entry.priority + (now - entry.queued_at) / AGE_PER_PRIORITY
    return (-aged, TYPE_ORDER[entry.type], entry.queued_at)
