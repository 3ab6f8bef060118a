"""Applying robot definitions through the API: each is created or replaced."""

from collections.abc import Sequence

from rota.client import Api, ApiError, Json
from rota.definitions import wire
from rota_contracts.robots.robot import RobotDefinition

CONFLICT = 409


async def apply_all(api: Api, definitions: Sequence[RobotDefinition]) -> list[Json]:
    """`{member_id, outcome: created | changed | unchanged, rev}` of each, in their order."""
    return [await apply_one(api, definition) for definition in definitions]


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
