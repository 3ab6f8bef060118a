"""Applying definitions through the API: each is created or replaced; members before the robots that they manage."""

from collections.abc import Sequence

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.definitions import wire
from rota.kinds import Definition
from rota_contracts.members import MemberDefinition
from rota_contracts.robots.robot import RobotDefinition

CONFLICT = 409


async def apply_all(api: Api, definitions: Sequence[Definition]) -> list[Json]:
    """`{member_id, outcome: created | changed | unchanged, rev}` of each: members, then robots, in their order."""
    members = [await apply_member(api, each) for each in definitions if isinstance(each, MemberDefinition)]
    return members + [await apply_one(api, each) for each in definitions if isinstance(each, RobotDefinition)]


async def apply_member(api: Api, definition: MemberDefinition) -> Json:
    member, body = definition.member_id, definition.model_dump(mode="json", exclude_unset=True)
    try:
        return _outcome(member, "created", await api.of_team("POST", "/members", json=body))
    except ApiError as error:
        if error.code != "member_exists":
            raise
    before = await api.of_team("GET", f"/members/{member}")
    after = await api.of_team("PUT", f"/members/{member}", json=body)
    return _outcome(member, "unchanged" if after["rev"] == before["rev"] else "changed", after)


async def apply_one(api: Api, definition: RobotDefinition) -> Json:
    member = str(definition.member_id)
    try:
        return _outcome(member, "created", await api.create_robot(wire(definition)))
    except ApiError as error:
        if error.status != CONFLICT:
            raise
    before = await api.robot(member)
    after = await api.replace_robot(member, wire(definition))
    # A replacement that changes nothing makes no new revision.
    return _outcome(member, "unchanged" if after["rev"] == before["rev"] else "changed", after)


def _outcome(member: str, outcome: str, robot: Json) -> Json:
    return {"member_id": member, "outcome": outcome, "rev": robot.get("rev")}
