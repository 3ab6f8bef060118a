"""Applying definitions through the API: those of one set together, then members, then robots."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.definitions import wire
from rota.kinds import Definition
from rota_contracts.members import MemberDefinition
from rota_contracts.messages.definition import WrittenDefinition
from rota_contracts.robots.robot import RobotDefinition

CONFLICT = 409


@dataclass(frozen=True)
class Options:
    """`prune`: agents, connectors, MCP servers and skills that aren't among the definitions are deleted. `canary`: so
    many percent of new runs begin with the new set."""

    prune: bool = False
    canary: int | None = None


async def apply_all(api: Api, definitions: Sequence[Definition], options: Options = Options()) -> AsyncIterator[Json]:
    """Each as soon as it is applied: `{kind, id, outcome, rev}` of each agent, connector and MCP server, which are
    applied as one; then `{member_id, outcome: created | changed | unchanged, rev}` of members, and of robots."""
    for change in (await apply_set(api, definitions, options))["definitions"]:
        yield {name: change[name] for name in ("kind", "id", "outcome", "rev")}
    for each in definitions:
        if isinstance(each, MemberDefinition):
            yield await apply_member(api, each)
    for each in definitions:
        if isinstance(each, RobotDefinition):
            yield await apply_one(api, each, canary=options.canary)


async def apply_set(
    api: Api, definitions: Sequence[Definition], options: Options = Options(), *, dry_run: bool = False
) -> Json:
    """The gateway's answer: `{rev, definitions}`. Nothing is asked where there is nothing to apply."""
    written = [each.model_dump(mode="json") for each in definitions if isinstance(each, WrittenDefinition)]
    if not written and not options.prune:
        return {"rev": 0, "definitions": []}
    body: Json = {"definitions": written, "prune": options.prune, "dry_run": dry_run, "canary": options.canary}
    return await api.of_team("POST", "/definitions", json=body)


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


async def apply_one(api: Api, definition: RobotDefinition, *, canary: int | None = None) -> Json:
    """One that isn't there yet has nothing that a canary could stand beside: it is created."""
    member = str(definition.member_id)
    try:
        return _outcome(member, "created", await api.create_robot(wire(definition)))
    except ApiError as error:
        if error.status != CONFLICT:
            raise
    before = await api.robot(member)
    after = await api.replace_robot(member, wire(definition), canary=canary)
    # A replacement that changes nothing makes no new revision.
    return _outcome(member, "unchanged" if after["rev"] == before["rev"] else "changed", after)


def _outcome(member: str, outcome: str, robot: Json) -> Json:
    return {"member_id": member, "outcome": outcome, "rev": robot.get("rev")}
