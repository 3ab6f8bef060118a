"""Creates, changes and deletes robots.

Order: MongoDB with the next `rev` and `synced: false` → the bucket of robots → `robot.changed` → `synced: true`.
When NATS is known to be away nothing is saved and the answer is 503. When it fails after the save, the answer is 503 as
well and says that the change is stored: the sweep publishes it as soon as possible, and a repeat of the request is
harmless, because a creation whose success was never reported may be repeated, and a change that changes nothing makes
no new `rev`.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.ids import derived_id
from rota_contracts.robots.robot import Robot, RobotDefinition, RobotStatus
from trigger_gateway.problems import Conflict, NotFound, StoredNotApplied
from trigger_gateway.robots.canary import check_beside_canary, new_revision, with_canary
from trigger_gateway.robots.find_robot import find_robot
from trigger_gateway.robots.ports import RobotHistory, RobotRecords, RobotRevision
from trigger_gateway.robots.record import (
    RobotRecord,
    changed,
    definition,
    deleted,
    next_record,
    owners_part,
    replaced,
    same,
)
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.teams.shares import Allow, allow_all

TRIES = 5
"""Attempts while others change the robot concurrently."""

Edit = Callable[[Robot], Robot]
Check = Callable[[str, RobotDefinition, Robot | None], Awaitable[None]]
"""Takes the team, the definition that is to be stored, and the robot as it is stored. Raises what refuses it."""


async def check_nothing(team: str, wanted: RobotDefinition, stored: Robot | None) -> None: ...


@dataclass(frozen=True, kw_only=True)
class SaveRobot:
    records: RobotRecords
    sync: SyncRobots
    routes: Routes
    clock: Clock
    new_id: Callable[[], str]
    history: RobotHistory
    allow: Allow = allow_all
    check: Check = check_nothing

    async def create(self, team: str, raw: Mapping[str, Any], *, key: str | None = None, by: str = "") -> Robot:
        """`key` is the request's idempotency key: a repeat gets the same generated member_id.

        Raises Invalid for a wrong definition, Conflict when there is such a robot.
        """
        wanted = definition(raw)
        member = wanted.member_id or self._generated(team, key)
        robot = Robot.model_validate({**wanted.model_dump(), "member_id": member, "team_id": team})
        await self.check(team, wanted, None)
        self.sync.check()
        for _ in range(TRIES):
            existing = await self.records.find(team, member)
            if existing is None:
                record = self._first(robot)
                if await self.records.insert(record, allow=self.allow):
                    return await self._kept(record, by)
            elif existing.robot.deleted:
                if again := await self._create_again(existing, robot):
                    return await self._kept(again, by)
            elif not existing.confirmed and same(robot, existing.robot):
                return await self._apply(existing)
            else:
                raise Conflict("robot_exists", f"team {team} has a robot {member} already: change it with PUT or PATCH")
        raise _contended(member)

    async def replace(
        self, team: str, member: str, raw: Mapping[str, Any], *, by: str = "", share: int | None = None
    ) -> Robot:
        """A new definition in place of the old one, or beside it, as the canary of `share` percent of new runs; its
        status stays."""
        wanted = definition(raw)

        def edit(robot: Robot) -> Robot:
            if share is None:
                return replaced(robot, wanted)
            return with_canary(robot, wanted, share=share, at=self.clock())

        return await self.edit(team, member, edit, by=by)

    async def change(self, team: str, member: str, patch: Mapping[str, Any], *, by: str = "") -> Robot:
        """Only the given top-level fields."""
        sets_health = "robot_status" in patch
        return await self.edit(team, member, lambda robot: changed(robot, patch), sets_health=sets_health, by=by)

    async def roll_back(self, team: str, member: str, *, to: int | None = None, by: str = "") -> Robot:
        """To this revision of its history, or to the one before its definition of now."""
        now = owners_part((await find_robot(self.records, team, member)).robot)
        known = await self.history.revisions(team, member)
        wanted = next((each for each in known if _is(each, to, now)), None)
        if wanted is None:
            which = f"revision {to}" if to else "an earlier revision"
            raise NotFound("revision_not_found", f"robot {member} has no {which}: see the history of its revisions")
        return await self.replace(team, member, owners_part(wanted.robot).model_dump(mode="json"), by=by)

    async def set_status(self, team: str, member: str, status: RobotStatus, *, of: Collection[RobotStatus]) -> Robot:
        """Of a robot that has one of the statuses `of`; any other stays as it is."""

        def edit(robot: Robot) -> Robot:
            return changed(robot, {"robot_status": status}) if robot.robot_status in of else robot

        return await self.edit(team, member, edit, sets_health=True)

    async def delete(self, team: str, member: str) -> None:
        """From any state. The record stays, marked as deleted; other services receive the event and clean up."""
        record = await self.records.find(team, member)
        if record is not None and record.robot.deleted and not record.synced:
            await self._apply(record)  # a repeat, after the first could not be published
            return
        await self.edit(team, member, deleted)
        await self.history.forget(team, member)

    async def edit(self, team: str, member: str, edit: Edit, *, sets_health: bool = False, by: str = "") -> Robot:
        """Raises Conflict for another definition while it has a canary. `sets_health`: the owner sets the status, so
        earlier reports of runs are ignored."""
        self.sync.check()
        for _ in range(TRIES):
            record = await find_robot(self.records, team, member)
            robot, now = edit(record.robot), self.clock()
            check_beside_canary(record.robot, robot)
            await self.check(team, robot, record.robot)
            health_at = now if sets_health and not record.health_known_at(now) else record.health_at
            if same(robot, record.robot):
                if health_at in (None, record.health_at) or await self.records.note_health(record, health_at):
                    return await self._apply(record)
                continue
            edited = next_record(record, robot, now, health_at=health_at)
            grows = len(robot.model_dump_json()) > len(record.robot.model_dump_json())
            new = new_revision(record.robot, robot)
            if new is not None:
                await self._keep_older(record)
            if await self.records.replace(edited, expected=record, allow=self.allow if grows else None):
                if new is not None:
                    await self.history.keep(RobotRevision(new, now, by, canary=robot.canary is not None))
                return await self._apply(edited)
        raise _contended(member)

    async def _create_again(self, old: RobotRecord, robot: Robot) -> RobotRecord | None:
        """A robot under the name of a deleted one, whose deletion is published first, or it never would be."""
        if not old.synced:
            await self.sync(old, confirmed=False)
        record = self._first(robot.model_copy(update={"rev": old.robot.rev + 1}))
        done = await self.records.replace(record, expected=old, allow=self.allow)
        return record if done else None

    def _first(self, robot: Robot) -> RobotRecord:
        """The record of a new robot. Reports of runs of a deleted one of its name are ignored."""
        now = self.clock()
        return RobotRecord(robot, now, health_at=now)

    async def _keep_older(self, record: RobotRecord) -> None:
        """A definition from before there was a history, or that missed it."""
        now = owners_part(record.robot)
        known = await self.history.revisions(record.robot.team_id, record.robot.member_id)
        if now != next((owners_part(each.robot) for each in known if not each.canary), None):
            await self.history.keep(RobotRevision(record.robot.as_of(None), record.changed_at))

    async def _kept(self, record: RobotRecord, by: str) -> Robot:
        await self.history.keep(RobotRevision(record.robot, record.changed_at, by))
        return await self._apply(record)

    async def _apply(self, record: RobotRecord) -> Robot:
        robot = record.robot
        self.routes.forget(robot.team_id)
        try:
            return await self.sync(record, confirmed=True)
        except Transient as error:
            raise StoredNotApplied(
                "stored_not_applied",
                f"robot {robot.member_id} is stored and will be applied as soon as NATS is back; a repeat is harmless",
            ) from error

    def _generated(self, team: str, key: str | None) -> str:
        name = self.new_id() if key is None else derived_id("member", team, key)
        return f"mem_{name.replace('-', '')[:12]}"


def _is(one: RobotRevision, to: int | None, now: RobotDefinition) -> bool:
    """Is it the wanted one? Without `to` the newest that isn't the definition of now and was more than a canary."""
    return one.robot.rev == to if to else not one.canary and owners_part(one.robot) != now


def _contended(member: str) -> Conflict:
    return Conflict("changed_meanwhile", f"robot {member} is being changed by others at the same moment: try again")
