"""Differences between definitions in files and those that are there, as unified diffs of their YAML."""

from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from rota.api_error import ApiError
from rota.applying import Options, apply_set
from rota.client import Api, Json
from rota.definitions import owners_part
from rota.kinds import MEMBER, ROBOT, Definition
from rota.yaml_core import dump
from rota_contracts.members import MemberDefinition
from rota_contracts.robots.robot import RobotDefinition

NOT_FOUND = 404


async def differences(api: Api, definitions: Sequence[Definition], options: Options) -> list[str]:
    """One diff for each definition that would be created, changed or deleted."""
    changes = (await apply_set(api, definitions, options, dry_run=True))["definitions"]
    found = [_diff(f"{each['kind']}/{each['id']}", each["before"], each["after"]) for each in changes]
    for each in definitions:
        if isinstance(each, MemberDefinition):
            path = f"/members/{each.member_id}"
            after = each.model_dump(mode="json", exclude_unset=True)
            before = await _there(api, path)
            found.append(_diff(f"{MEMBER}/{each.member_id}", before and _only(before, after), after))
        elif isinstance(each, RobotDefinition):
            before = await _there(api, f"/robots/{each.member_id}")
            after = each.model_dump(mode="json", exclude_defaults=True)
            found.append(_diff(f"{ROBOT}/{each.member_id}", before and owners_part(before), after))
    return [diff for diff in found if diff]


async def _there(api: Api, path: str) -> Json | None:
    try:
        return await api.of_team("GET", path)
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        return None


def _only(before: Json, after: Json) -> Json:
    return {name: before.get(name) for name in after}


def _diff(name: str, before: Any, after: Any) -> str:
    lines = unified_diff(_lines(before), _lines(after), f"{name} (now)", f"{name} (file)", lineterm="")
    return "\n".join(lines)


def _lines(value: Any) -> list[str]:
    return [] if value is None else dump(value).splitlines()
