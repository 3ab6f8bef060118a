"""The history of robots' definitions in MongoDB."""

from collections.abc import Sequence

from rota_common.stores.mongo import Database, Document
from rota_contracts.robots.robot import Robot
from trigger_gateway.robots.ports import HISTORY, RobotRevision


class MongoRobotHistory:
    """`_id` is `<team>/<member>/<rev>`. The definition is JSON text, as in the records of robots."""

    def __init__(self, database: Database) -> None:
        self._revisions = database["robot_revisions"]

    async def prepare(self) -> None:
        await self._revisions.create_index([("team", 1), ("member", 1), ("rev", -1)])

    async def keep(self, revision: RobotRevision) -> None:
        robot = revision.robot
        of = {"team": robot.team_id, "member": robot.member_id}
        new = {**of, "rev": robot.rev, "robot": robot.model_dump_json(), "at": revision.at, "by": revision.by}
        new["canary"] = revision.canary
        key = {"_id": f"{robot.team_id}/{robot.member_id}/{robot.rev}"}
        await self._revisions.update_one(key, {"$setOnInsert": new}, upsert=True)
        old = self._revisions.find(of, {"_id": 1}).sort("rev", -1).skip(HISTORY)
        if gone := [each["_id"] async for each in old]:
            await self._revisions.delete_many({"_id": {"$in": gone}})

    async def revisions(self, team: str, member: str) -> Sequence[RobotRevision]:
        found = self._revisions.find({"team": team, "member": member}).sort("rev", -1).limit(HISTORY)
        return [_revision(each) async for each in found]

    async def forget(self, team: str, member: str) -> None:
        await self._revisions.delete_many({"team": team, "member": member})


def _revision(document: Document) -> RobotRevision:
    robot = Robot.model_validate_json(document["robot"])
    return RobotRevision(robot, document["at"], document["by"], canary=document.get("canary", False))
