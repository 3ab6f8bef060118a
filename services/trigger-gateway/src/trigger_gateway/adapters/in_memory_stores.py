"""The gateway's stores in memory, held to the same tests as the real ones."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from rota_common.errors import Transient, Unreadable
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role
from trigger_gateway.robots.ports import HISTORY, RobotRevision
from trigger_gateway.robots.record import RobotRecord, Subscriber, database_sources, subscriber, webhook_sources
from trigger_gateway.runs.ports import EarlierRequest
from trigger_gateway.sources.source import Source
from trigger_gateway.teams.api_keys import ApiKey
from trigger_gateway.teams.ports import Removal, RemovedTeam, Team
from trigger_gateway.teams.shares import Allow, Usage, allow_all


class InMemoryTeams:
    def __init__(self) -> None:
        self._teams: dict[str, str] = {}
        self._paused: dict[str, set[str]] = {}
        self._removed: dict[str, RemovedTeam] = {}

    async def add(self, team: str, name: str) -> bool:
        new = team not in self._teams and team not in self._removed
        if new:
            self._teams[team] = name
        return new

    async def remove(self, removed: RemovedTeam) -> RemovedTeam | None:
        if self._teams.pop(removed.id, None) is not None:
            self._paused.pop(removed.id, None)
            self._removed[removed.id] = removed
        return await self.removed(removed.id)

    async def removed(self, team: str) -> RemovedTeam | None:
        return self._removed.get(team)

    async def removals_due(self, now: datetime, *, limit: int) -> list[RemovedTeam]:
        due = [(each.next_at, each.id) for each in self._removed.values() if each.next_at and each.next_at <= now]
        return [self._removed[team] for _, team in sorted(due)][:limit]

    async def note_round(self, before: RemovedTeam, after: RemovedTeam) -> None:
        if self._removed.get(before.id) == before:
            self._removed[before.id] = after

    async def exists(self, team: str) -> bool:
        return team in self._teams

    async def page(self, *, after: str, limit: int) -> list[Team]:
        return [Team(team, self._teams[team]) for team in sorted(self._teams) if team > after][:limit]

    async def paused(self, team: str) -> list[str]:
        return sorted(self._paused.get(team, ()))

    async def note_paused(self, team: str, members: Sequence[str]) -> None:
        if team in self._teams:
            self._paused[team] = self._paused.get(team, set()) | set(members)

    async def forget_paused(self, team: str, members: Sequence[str]) -> None:
        self._paused[team] = self._paused.get(team, set()) - set(members)


class InMemoryKeys:
    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}

    async def add(self, key: ApiKey) -> None:
        self._keys[key.key_id] = key

    async def find(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    async def of_team(self, team: str) -> list[ApiKey]:
        return sorted((key for key in self._keys.values() if key.team == team), key=lambda key: key.created_at)

    async def remove(self, team: str, key_id: str) -> Removal:
        mine = await self.of_team(team)
        if key_id not in {key.key_id for key in mine}:
            return Removal.UNKNOWN
        if [key.key_id for key in mine if key.role is Role.OWNER] == [key_id]:
            return Removal.LAST_OWNER
        del self._keys[key_id]
        return Removal.DONE

    async def remove_all(self, team: str) -> None:
        self._keys = {key_id: key for key_id, key in self._keys.items() if key.team != team}


class InMemorySources:
    """`asked` counts the look-ups."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str], Source] = {}
        self.asked = 0

    async def add(self, source: Source, *, allow: Allow = allow_all) -> bool:
        new = (source.team, source.name) not in self._sources
        if new:
            mine = [each for each in await self.of_team(source.team) if each.kind is source.kind]
            allow(Usage(len(mine) + 1))
        self._sources.setdefault((source.team, source.name), source)
        return new

    async def find(self, team: str, name: str) -> Source | None:
        self.asked += 1
        return self._sources.get((team, name))

    async def of_team(self, team: str) -> list[Source]:
        return sorted((each for each in self._sources.values() if each.team == team), key=lambda each: each.name)

    async def databases(self) -> list[Source]:
        found = (each for each in self._sources.values() if each.database is not None)
        return sorted(found, key=lambda each: (each.team, each.name))

    async def page(self, after: tuple[str, str], *, limit: int) -> Sequence[Source]:
        return [self._sources[key] for key in sorted(self._sources) if key > after][:limit]

    async def replace(self, source: Source, *, expected: Source) -> bool:
        key = source.team, source.name
        if self._sources.get(key) != expected:
            return False
        self._sources[key] = source
        return True

    async def remove(self, team: str, name: str) -> bool:
        return self._sources.pop((team, name), None) is not None


class InMemoryRobots:
    """`unreadable`: robots that another version wrote."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], RobotRecord] = {}
        self.unreadable: set[tuple[str, str]] = set()

    async def find(self, team: str, member: str) -> RobotRecord | None:
        if (team, member) in self.unreadable:
            raise Unreadable(f"robot {member} was written by another version: this one can't read it")
        return self._records.get((team, member))

    async def insert(self, record: RobotRecord, *, allow: Allow = allow_all) -> bool:
        new = _key(record.robot) not in self._records
        if new:
            allow(self._usage(record))
        self._records.setdefault(_key(record.robot), record)
        return new

    async def replace(self, record: RobotRecord, *, expected: RobotRecord, allow: Allow | None = None) -> bool:
        if self._unchanged(expected) is None:
            return False
        if allow is not None:
            allow(self._usage(record))
        self._records[_key(record.robot)] = record
        return True

    async def note_health(self, record: RobotRecord, at: datetime) -> bool:
        there = self._unchanged(record)
        if there is None:
            return False
        self._records[_key(record.robot)] = replace(there, health_at=at)
        return True

    async def mark_synced(self, robot: Robot, *, confirmed: bool) -> None:
        there = self._records.get(_key(robot))
        if there is not None and there.robot.rev == robot.rev:
            marked = replace(there, synced=True, announced=True, confirmed=there.confirmed or confirmed)
            self._records[_key(robot)] = marked

    async def unsynced(self, limit: int, *, apart_from: Sequence[tuple[str, str]] = ()) -> list[RobotRecord]:
        left_out = self.unreadable | {*apart_from}
        waiting = [record for key, record in self._records.items() if not record.synced and key not in left_out]
        return sorted(waiting, key=lambda record: record.changed_at)[:limit]

    async def forget_synced(self) -> None:
        self._records = {key: replace(record, synced=False) for key, record in self._records.items()}

    async def page(self, team: str, *, page: int, page_size: int) -> tuple[list[Robot], int]:
        mine = sorted(self._of_team(team), key=lambda robot: robot.member_id)
        shown = mine[(page - 1) * page_size : page * page_size]
        return [robot for robot in shown if _key(robot) not in self.unreadable], len(mine)

    async def subscribers(self, team: str, source: str, *, kind: str = "webhook") -> list[Subscriber]:
        named = webhook_sources if kind == "webhook" else database_sources
        return [subscriber(robot) for robot in self._of_team(team) if source in named(robot)]

    def _unchanged(self, record: RobotRecord) -> RobotRecord | None:
        there = self._records.get(_key(record.robot))
        same = there and (there.robot.rev, there.health_at) == (record.robot.rev, record.health_at)
        return there if same else None

    def _usage(self, new: RobotRecord) -> Usage:
        after = {**self._records, _key(new.robot): new}
        mine = [each.robot for each in after.values() if each.robot.team_id == new.robot.team_id]
        size = sum(len(robot.model_dump_json().encode()) for robot in mine)
        return Usage(sum(not robot.deleted for robot in mine), size)

    def _of_team(self, team: str) -> list[Robot]:
        robots = (record.robot for record in self._records.values())
        return [robot for robot in robots if robot.team_id == team and not robot.deleted]


class InMemoryRobotHistory:
    def __init__(self) -> None:
        self._revisions: dict[tuple[str, str], dict[int, RobotRevision]] = {}

    async def keep(self, revision: RobotRevision) -> None:
        mine = self._revisions.setdefault(_key(revision.robot), {})
        mine.setdefault(revision.robot.rev, revision)
        for rev in sorted(mine, reverse=True)[HISTORY:]:
            del mine[rev]

    async def revisions(self, team: str, member: str) -> Sequence[RobotRevision]:
        return [revision for _, revision in sorted(self._revisions.get((team, member), {}).items(), reverse=True)]

    async def forget(self, team: str, member: str) -> None:
        self._revisions.pop((team, member), None)


class InMemoryDefinitions:
    """Copies and events of robots. `away` makes it fail at once, `breaks` only after everything looked well."""

    def __init__(self) -> None:
        self.robots: dict[tuple[str, str], Robot] = {}
        self.published: list[tuple[str, int, bool]] = []
        self.away = self.breaks = False

    def check(self) -> None:
        if self.away:
            raise Transient("NATS: not connected")

    async def put(self, robot: Robot) -> None:
        if self.away or self.breaks:
            raise Transient("NATS: gone")
        there = self.robots.get(_key(robot))
        if there is None or there.rev < robot.rev:
            self.robots[_key(robot)] = robot

    async def remove_team(self, team: str) -> None:
        self.check()
        self.robots = {key: robot for key, robot in self.robots.items() if robot.team_id != team}

    async def publish(self, robot: Robot, *, created: bool) -> None:
        event = (robot.member_id, robot.rev, created)
        if event not in self.published:
            self.published.append(event)


class InMemoryTriggers:
    """Keeps what was published, each trigger once; `away` makes it fail."""

    def __init__(self) -> None:
        self.published: dict[str, TriggerReceivedV1] = {}
        self.away = False

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        if self.away:
            raise Transient("NATS: not connected")
        new = trigger.trigger_id not in self.published
        self.published.setdefault(trigger.trigger_id, trigger)
        return new


class InMemoryRequests:
    def __init__(self) -> None:
        self._requests: dict[str, EarlierRequest] = {}

    async def remember(self, request_id: str, digest: str) -> EarlierRequest | None:
        first = self._requests.get(request_id)
        self._requests.setdefault(request_id, EarlierRequest(digest))
        return first

    async def recall(self, request_id: str) -> EarlierRequest | None:
        return self._requests.get(request_id)

    async def note(self, request_id: str, answer: str) -> None:
        if request_id in self._requests:
            self._requests[request_id] = replace(self._requests[request_id], answer=answer)


def _key(robot: Robot) -> tuple[str, str]:
    return robot.team_id, robot.member_id
