"""Warnings about applied robots: what is known to fail until it is set up."""

from collections.abc import Iterator, Sequence

from rota.api_error import ApiError
from rota.client import Api
from rota.kinds import Definition
from rota.missing_names import REFERENCE, names, not_set
from rota_contracts.robots.robot import RobotDefinition

ADD = {
    "webhook": "rota sources add {name} --generate",
    "database": "rota sources add-database {name} --help",
}


async def warnings(api: Api, definitions: Sequence[Definition]) -> list[str]:
    """In the order of the definitions, each once. What the key may not read isn't checked."""
    robots = [each for each in definitions if isinstance(each, RobotDefinition)]
    needed = [each for robot in robots for each in _needed(robot)]
    known = {kind: await names(api, kind) for kind in dict.fromkeys(kind for kind, *_ in needed)}
    missing = [text for kind, name, text in needed if (there := known[kind]) is not None and name not in there]
    for name in (each.member_id for each in robots if each.member_id):
        missing += [f"{name}: {problem}" for problem in await _problems(api, name)]
    return list(dict.fromkeys(missing))


async def _problems(api: Api, member: str) -> list[str]:
    """The agents and MCP servers that it names and that aren't there; none while no executor says so."""
    try:
        return list((await api.of_team("GET", f"/robots/{member}/problems"))["problems"])
    except ApiError:
        return []


def _needed(robot: RobotDefinition) -> Iterator[tuple[str, str, str]]:
    """Of each source and secret that it names: the kind, the name, and the warning if it isn't there."""
    for event in robot.robot_config.events:
        name = event.source_name
        how = ADD[event.type].format(name=name)
        yield "sources", name, f"{robot.member_id}: there is no source {name}, so its events don't come: {how}"
    for name in REFERENCE.findall(robot.model_dump_json()):
        yield "secrets", name, f"{robot.member_id}: {not_set(name, 'what needs it waits')}"
