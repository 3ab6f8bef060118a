"""The gateway's records of robots in MongoDB.

The definition is stored as the JSON text that other services read: an owner's free fields may hold names that MongoDB
doesn't accept. The fields that robots are found by are beside it.
"""

from collections.abc import Sequence
from datetime import datetime

from motor.motor_asyncio import AsyncIOMotorClientSession
from pydantic_core import from_json
from pymongo.errors import DuplicateKeyError

from rota_common.errors import Unreadable
from rota_common.stores.mongo import Database, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.robots.events import EventSubscription
from rota_contracts.robots.robot import Robot
from trigger_gateway.adapters.mongo_team_lock import MongoTeamLock
from trigger_gateway.robots.record import RobotRecord, Subscriber, database_sources, webhook_sources
from trigger_gateway.teams.shares import Allow, Usage, allow_all

FORM = 2
"""Version of the document: 2 has `databases`; the first had no number."""

FIRST_FORM: Document = {"form": None}


class MongoRobots:
    """`_id` is `<team>/<member>`; neither can hold a slash."""

    def __init__(self, database: Database, *, reader: str | None = None) -> None:
        self._robots = database["robots"]
        self._aside = SetAside(self._robots, service="trigger-gateway", reader=reader)
        self._lock = MongoTeamLock(database, "robots")

    async def prepare(self) -> None:
        await self._aside.prepare()
        await self._robots.create_index([("team", 1), ("deleted", 1), ("member", 1)])
        await self._robots.create_index([("team", 1), ("sources", 1)])
        await self._robots.create_index([("team", 1), ("databases", 1)])
        await self._robots.create_index([("team", 1), ("form", 1)])
        await self._robots.create_index("changed_at", partialFilterExpression={"synced": False}, name="unsynced")

    async def find(self, team: str, member: str) -> RobotRecord | None:
        found = await self._robots.find_one({"_id": f"{team}/{member}"})
        if found is None:
            return None
        if (record := await self._aside.read(found, record_of)) is None:
            raise Unreadable(f"robot {member} was written by another version: this one can't read it")
        return record

    async def insert(self, record: RobotRecord, *, allow: Allow = allow_all) -> bool:
        async def work(session: AsyncIOMotorClientSession) -> None:
            await self._robots.insert_one(_document(record), session=session)
            allow(await self._usage(record.robot.team_id, session))

        try:
            await self._lock.transaction(record.robot.team_id, work)
        except DuplicateKeyError:
            return False
        return True

    async def replace(self, record: RobotRecord, *, expected: RobotRecord, allow: Allow | None = None) -> bool:
        if allow is None:
            done = await self._robots.replace_one(_unchanged(expected), _document(record))
            return done.matched_count == 1
        judge = allow

        async def work(session: AsyncIOMotorClientSession) -> bool:
            done = await self._robots.replace_one(_unchanged(expected), _document(record), session=session)
            if done.matched_count == 1:
                judge(await self._usage(record.robot.team_id, session))
            return done.matched_count == 1

        return await self._lock.transaction(record.robot.team_id, work)

    async def _usage(self, team: str, session: AsyncIOMotorClientSession) -> Usage:
        """Written before it is counted: the transaction sees its own write."""
        alive: Document = {"$sum": {"$cond": ["$deleted", 0, 1]}}
        grouped: Document = {"_id": None, "count": alive, "bytes": {"$sum": {"$strLenBytes": "$robot"}}}
        counted = self._robots.aggregate([{"$match": {"team": team}}, {"$group": grouped}], session=session)
        async for found in counted:
            return Usage(found["count"], found["bytes"])
        return Usage()

    async def note_health(self, record: RobotRecord, at: datetime) -> bool:
        done = await self._robots.update_one(_unchanged(record), {"$set": {"health_at": at.isoformat()}})
        return done.matched_count == 1

    async def mark_synced(self, robot: Robot, *, confirmed: bool) -> None:
        now_true = {"synced": True, "announced": True} | ({"confirmed": True} if confirmed else {})
        await self._robots.update_one(
            {"_id": f"{robot.team_id}/{robot.member_id}", "rev": robot.rev}, {"$set": now_true}
        )

    async def unsynced(self, limit: int, *, apart_from: Sequence[tuple[str, str]] = ()) -> list[RobotRecord]:
        left_out = [f"{team}/{member}" for team, member in apart_from]
        wanted = {"synced": False, "_id": {"$nin": left_out}, **self._aside.readable}
        cursor = self._robots.find(wanted).sort("changed_at", 1).limit(limit)
        return [record async for record in self._aside.readable_of(cursor, record_of)]

    async def forget_synced(self) -> None:
        await self._robots.update_many({"synced": True}, {"$set": {"synced": False}})

    async def page(self, team: str, *, page: int, page_size: int) -> tuple[list[Robot], int]:
        those = {"team": team, "deleted": False}
        cursor = self._robots.find(those).sort("member", 1).skip((page - 1) * page_size).limit(page_size)
        robots = [record.robot async for record in self._aside.readable_of(cursor, record_of)]
        return robots, await self._robots.count_documents(those)

    async def subscribers(self, team: str, source: str, *, kind: str = "webhook") -> list[Subscriber]:
        known = {"sources": source} if kind == "webhook" else {"$or": [{"databases": source}, FIRST_FORM]}
        found = self._robots.find({"team": team, "deleted": False, **known})
        subscribers = self._aside.readable_of(found, _subscriber)
        return [each async for each in subscribers if any(one.names(source, kind=kind) for one in each.subscriptions)]


def _unchanged(record: RobotRecord) -> Document:
    """Matches the record if it is unchanged, its health too."""
    robot, health_at = record.robot, _text(record.health_at)
    return {"_id": f"{robot.team_id}/{robot.member_id}", "rev": robot.rev, "health_at": health_at}


def second_form(document: Document) -> Document:
    """The update that makes it of a document of the first form."""
    robot = Robot.model_validate_json(document["robot"])
    return {"$set": {"databases": _databases(robot), "form": FORM}}


def _databases(robot: Robot) -> list[str]:
    return [] if robot.deleted else database_sources(robot)


def _text(at: datetime | None) -> str | None:
    """To the microsecond: MongoDB keeps milliseconds, and two runs may end within one."""
    return at.isoformat() if at else None


def _document(record: RobotRecord) -> Document:
    robot = record.robot
    return {
        "_id": f"{robot.team_id}/{robot.member_id}",
        "team": robot.team_id,
        "member": robot.member_id,
        "rev": robot.rev,
        "deleted": robot.deleted,
        "deleted_at": record.changed_at if robot.deleted else None,
        "sources": [] if robot.deleted else webhook_sources(robot),
        "databases": _databases(robot),
        "form": FORM,
        "robot": robot.model_dump_json(),
        "changed_at": record.changed_at,
        "synced": record.synced,
        "announced": record.announced,
        "confirmed": record.confirmed,
        "health_at": _text(record.health_at),
    }


def _subscriber(document: Document) -> Subscriber:
    """Of its definition the subscriptions alone, so that a robot whose other parts another version wrote is woken."""
    events = from_json(document["robot"])["robot_config"]["events"]
    subscriptions = tuple(EventSubscription.model_validate(each) for each in events)
    return Subscriber(document["member"], document["rev"], subscriptions)


def record_of(document: Document) -> RobotRecord:
    return RobotRecord(
        robot=Robot.model_validate_json(document["robot"]),
        changed_at=document["changed_at"],
        synced=document["synced"],
        announced=document["announced"],
        confirmed=document["confirmed"],
        health_at=datetime.fromisoformat(text) if (text := document.get("health_at")) else None,
    )
