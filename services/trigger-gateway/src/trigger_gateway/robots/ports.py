"""Ports of robots: their records, and the copies and events that other services read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from rota_contracts.messages.definition import CountRuns, RunCounts
from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.record import RobotRecord, Subscriber
from trigger_gateway.teams.shares import Allow, allow_all

HISTORY = 20
"""Revisions of a robot's definition that are kept."""


class RobotRecords(Protocol):
    """The source of truth about robots; a deleted one stays, so that its `rev` keeps growing.

    One that another version wrote, and this one can't read, is left out of everything but `find`, which raises
    Unreadable, and `subscribers`, as long as its subscriptions can be read.
    """

    async def find(self, team: str, member: str) -> RobotRecord | None:
        """Also a deleted one."""
        ...

    async def insert(self, record: RobotRecord, *, allow: Allow = allow_all) -> bool:
        """False if there is a record of this robot already. `allow` judges the robots that the team then has, and the
        bytes of all its records, those of deleted ones too."""
        ...

    async def replace(self, record: RobotRecord, *, expected: RobotRecord, allow: Allow | None = None) -> bool:
        """False if the record is no longer at the `rev` and `health_at` of `expected`. `allow` as for `insert`."""
        ...

    async def note_health(self, record: RobotRecord, at: datetime) -> bool:
        """Set `health_at` alone; False as for `replace`."""
        ...

    async def mark_synced(self, robot: Robot, *, confirmed: bool) -> None:
        """This `rev` is published. `confirmed`: its owner is about to get the answer. Nothing if it has moved on."""
        ...

    async def unsynced(self, limit: int, *, apart_from: Sequence[tuple[str, str]] = ()) -> list[RobotRecord]:
        """The longest waiting first. `apart_from`: team and member of those to leave out."""
        ...

    async def forget_synced(self) -> None:
        """No `rev` of any robot counts as published."""
        ...

    async def page(self, team: str, *, page: int, page_size: int) -> tuple[list[Robot], int]:
        """The robots that aren't deleted, by member_id, and how many there are in all."""
        ...

    async def subscribers(self, team: str, source: str, *, kind: str = "webhook") -> list[Subscriber]:
        """The robots that aren't deleted and subscribe to this source, a webhook or a database."""
        ...


@dataclass(frozen=True)
class RobotRevision:
    """A definition as its owner wrote it. `by`: the name of the key, empty where it isn't known. `canary`: it came as a
    canary; promoted, it is a revision of its own."""

    robot: Robot
    at: datetime
    by: str = ""
    canary: bool = False


class RobotHistory(Protocol):
    """The newest revisions of each robot's definition, which are for people alone: nothing reads them to run."""

    async def keep(self, revision: RobotRevision) -> None:
        """Unless it is there. The oldest go beyond HISTORY."""
        ...

    async def revisions(self, team: str, member: str) -> Sequence[RobotRevision]:
        """The newest first."""
        ...

    async def forget(self, team: str, member: str) -> None: ...


class Definitions(Protocol):
    """The copies of robots that other services read."""

    async def put(self, robot: Robot) -> None:
        """Store the robot unless a newer `rev` is stored. Raise Transient when the store is away."""
        ...

    async def remove_team(self, team: str) -> None:
        """Remove all of a team. Raise Transient when the store is away."""
        ...


class RobotEvents(Protocol):
    """The events `robot.changed` and `robot.deleted`."""

    def check(self) -> None:
        """Raise Transient if nothing can be published now."""
        ...

    async def publish(self, robot: Robot, *, created: bool) -> None:
        """Publish that it has changed, or is deleted; the same `rev` is the same event however often."""
        ...


class EndedRuns(Protocol):
    async def count(self, request: CountRuns) -> RunCounts:
        """How runs have ended, by the revision that they began with. Raise Transient when the executor doesn't
        answer."""
        ...


class RobotStates(Protocol):
    async def states(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        """The states of those of these robots that the scheduler knows. Raise Transient when it does not answer
        `within` so many seconds."""
        ...
