"""Whether a trigger gets a place in the queue, and whose turn it is. Pure."""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from rota_contracts.ids import execution_id
from rota_contracts.robot import InterveneTrigger, Robot, RobotStatus, Trigger
from rota_contracts.trigger import InterventionAction, RejectReason, TriggerReceivedV1, TriggerType

TYPE_ORDER = {TriggerType.HUMAN: 0, TriggerType.CALLBACK: 1, TriggerType.EVENT: 1, TriggerType.CLOCK: 2}
AGE_PER_PRIORITY = timedelta(minutes=1)
"""Waiting this long is worth one step of priority."""

TOO_LONG = timedelta(minutes=10)
"""Whoever waited this long goes before everybody else: nothing starves."""


HEAD_START = timedelta(minutes=5)
"""What has begun and goes on counts as having waited since it came, but for no longer than this: it goes before its
equals, and never past every team at once."""


class State(StrEnum):
    """Of an entry of the queue. Admitted and running entries hold a slot; a parked one has begun and holds none."""

    QUEUED = "queued"
    ADMITTED = "admitted"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Entry:
    """One execution on its way. `max_running` and `priority` are the robot's, as they were when it came.

    `parks`: how often it was parked so far; queued or holding a slot, it is the grant that it waits for or holds.
    `running`: an executor has taken up that grant.
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
    def robot(self) -> tuple[str, str]:
        return self.team, self.member


@dataclass(frozen=True)
class Refusal:
    """Why a trigger starts nothing."""

    reason: RejectReason
    message: str


@dataclass
class Board:
    """All that waits or holds a slot. Kept by the one dispatcher; loaded anew by its successor.

    Reports come doubled, late and in any order. `parks` puts them in order: parked 1, resumable 1, parked 2 and so on;
    whatever isn't later than what is known changes nothing.
    """

    queued: dict[str, Entry] = field(default_factory=dict)
    active: dict[str, Entry] = field(default_factory=dict)
    parked: dict[str, Entry] = field(default_factory=dict)

    def copy(self) -> "Board":
        return Board(dict(self.queued), dict(self.active), dict(self.parked))

    def waiting_of(self, robot: tuple[str, str]) -> int:
        return sum(1 for entry in self.queued.values() if entry.robot == robot)

    def find(self, entry_id: str) -> Entry | None:
        return self.active.get(entry_id) or self.queued.get(entry_id) or self.parked.get(entry_id)

    def admit(self, entry_id: str, now: datetime) -> Entry:
        """A queued entry gets its slot."""
        self.active[entry_id] = replace(self.queued.pop(entry_id), admitted_at=now)
        return self.active[entry_id]

    def start(self, entry_id: str, grant: int) -> bool:
        """An executor has taken up this grant of a slot. Says whether that is news."""
        entry = self.active.get(entry_id)
        if entry is None or entry.running or grant != entry.parks:
            return False
        self.active[entry_id] = replace(entry, running=True)
        return True

    def park(self, entry_id: str, parks: int) -> Entry | None:
        """It can't go on, and gives its slot back. The entry as it is then; None if the report is late."""
        entry = self.find(entry_id)
        if entry is None or parks <= entry.parks:
            return None
        self.free(entry_id)
        self.parked[entry_id] = replace(entry, parks=parks, admitted_at=None, running=False)
        return self.parked[entry_id]

    def resume(self, entry_id: str, parks: int, now: datetime) -> Entry | None:
        """It can go on, and is queued again whatever the robot's quota. The entry then; None if the report is late."""
        entry = self.find(entry_id)
        if entry is None or parks < entry.parks or (parks == entry.parks and entry_id not in self.parked):
            return None
        self.free(entry_id)
        since = max(entry.queued_at, now - HEAD_START)
        self.queued[entry_id] = replace(entry, parks=parks, queued_at=since, admitted_at=None, running=False)
        return self.queued[entry_id]

    def free(self, entry_id: str) -> None:
        """The entry holds nothing and waits for nothing any more."""
        self.queued.pop(entry_id, None)
        self.active.pop(entry_id, None)
        self.parked.pop(entry_id, None)


def consider(trigger: TriggerReceivedV1, robot: Robot | None, board: Board, *, now: datetime) -> Entry | Refusal:
    """Enabled, active, place in the queue? In this order; the first thing that is wrong is the reason (TG-05)."""
    if robot is None or robot.deleted:
        return Refusal(RejectReason.NO_ROBOT, f"there is no robot {trigger.member_id} in team {trigger.team_id}")
    if refusal := _switched_off(trigger, robot):
        return refusal
    if robot.robot_status in (RobotStatus.PAUSED, RobotStatus.MAINTENANCE):
        text = f"the robot is in status {robot.robot_status}: set it to idle to let it run"
        return Refusal(RejectReason.NOT_ACTIVE, text)
    quota, owner = robot.robot_config.quota, (trigger.team_id, trigger.member_id)
    running = sum(1 for entry in board.active.values() if entry.robot == owner)
    waiting = board.waiting_of(owner)
    if running + waiting >= quota.max + quota.queue:
        text = f"{running} executions run and {waiting} wait, which is all this robot's quota allows"
        return Refusal(RejectReason.QUEUE_FULL, text)
    return Entry(
        execution_id=execution_id(trigger.trigger_id),
        team=trigger.team_id,
        member=trigger.member_id,
        type=trigger.type,
        priority=quota.priority,
        max_running=quota.max,
        queued_at=now,
    )


def _switched_off(trigger: TriggerReceivedV1, robot: Robot) -> Refusal | None:
    if not robot.autonomous_mode:
        return Refusal(RejectReason.NOT_AUTONOMOUS, "the robot's autonomous_mode is off")
    switch = robot.trigger(trigger.type)
    if not switch.enabled:
        return Refusal(RejectReason.TRIGGER_DISABLED, f"{trigger.type} triggers are switched off for this robot")
    return action_refused(trigger.input.action, switch)


def action_refused(action: InterventionAction | None, switch: Trigger) -> Refusal | None:
    """A robot may have a list of the actions that people may ask of it (TG-04)."""
    if isinstance(switch, InterveneTrigger) and switch.actions and action and action not in switch.actions:
        allowed = ", ".join(switch.actions)
        return Refusal(RejectReason.ACTION_NOT_ALLOWED, f"expected one of the actions {allowed}, not {action}")
    return None


def pick(board: Board, *, pool: int, now: datetime) -> list[Entry]:
    """Whose turn it is, best first, as far as slots are free and no robot goes over its quota.

    The team with the fewest running comes first, then priority, then human before event before clock, then age.
    """
    teams = Counter(entry.team for entry in board.active.values())
    robots = Counter(entry.robot for entry in board.active.values())
    waiting, chosen = list(board.queued.values()), list[Entry]()
    while waiting and len(board.active) + len(chosen) < pool:
        able = [entry for entry in waiting if robots[entry.robot] < entry.max_running]
        if not able:
            break
        best = min(able, key=lambda entry: _rank(entry, teams[entry.team], now))
        waiting = [entry for entry in able if entry is not best]
        teams[best.team] += 1
        robots[best.robot] += 1
        chosen.append(best)
    return chosen


def _rank(entry: Entry, team_running: int, now: datetime) -> tuple[bool, int, float, int, datetime]:
    waited = now - entry.queued_at
    aged = entry.priority + waited / AGE_PER_PRIORITY
    return (waited < TOO_LONG, team_running, -aged, TYPE_ORDER[entry.type], entry.queued_at)
