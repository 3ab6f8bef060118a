"""The repair of a task's executor: the robot's assistant, tool or process that the planner meant."""

from collections.abc import Callable, Sequence
from typing import Any

from executor.domain.planning.arguments import problem
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.resources import Means, Resources
from rota_contracts.messages.execution import ExecutorType
from rota_contracts.robots.resources import MODELS, model_process

ALIASES = {
    "agent": ExecutorType.ASSISTANT,
    "llm": ExecutorType.ASSISTANT,
    "tool": ExecutorType.MCP,
    "mcp_tool": ExecutorType.MCP,
    "function": ExecutorType.PROCESS,
}
"""Names that planners give to the types."""

SAME = str.maketrans("_ .", "---")
"""What planners take for one another in names."""

Rule = Callable[[str], Callable[[Means], bool]]
"""Does one of the robot's means have this name?"""


def fitting_means(raw: dict[str, Any], has: Resources, *, task_id: str, again: bool) -> tuple[Means, list[Any], str]:
    """The means of a task, its arguments, and why it got others than it asked for.

    `again`: it was asked for already, and what doesn't fit goes to an assistant, who has the robot's tools.
    Raises UnusableAnswer.
    """
    try:
        means = find_means(raw, has, task_id=task_id)
        return means, listed_args(raw.get("args"), means), ""
    except UnusableAnswer as error:
        helpers = has.of(ExecutorType.ASSISTANT)
        if not again or not helpers:
            raise
        given = raw.get("args")
        return helpers[0], [] if given in (None, {}) else given if isinstance(given, list) else [given], f": {error}"


def listed_args(given: Any, means: Means) -> list[Any]:
    """A tool takes one object, a process a list; either is accepted for the other. Raises UnusableAnswer."""
    listed = [] if given in (None, {}) else given if isinstance(given, list) else [given]
    if means.type is not ExecutorType.MCP:
        return listed
    if listed and not isinstance(listed[0], dict):
        raise UnusableAnswer(f"expected args of a task of type mcp as one object of named arguments, got {listed!r}")
    if wrong := problem(listed[0] if listed else {}, means.parameters):
        raise UnusableAnswer(f"the args of a task don't fit tool {means.id}: {wrong}")
    return listed


def find_means(raw: dict[str, Any], has: Resources, *, task_id: str) -> Means:
    """The one that was meant: by its full name, else by a part of it that only one has, else the only one of its type.

    A type that contradicts the name is mended. A method of a model is taken as it is or not at all: another model's
    data is never what was meant. Raises UnusableAnswer that names what the robot has.
    """
    asked, kind = str(raw.get("executor_id") or ""), _type(raw)
    server, tool = raw.get("mcp_server"), raw.get("mcp_tool")
    found = _tool(str(server), str(tool), has) if server and tool else None
    if asked.startswith(MODELS):
        found = found or _named(asked, kind, has, _exactly) or _method(asked, has) or _open(asked, has)
    else:
        found = found or _named(asked, kind, has, _exactly, _partly) or _open(asked, has) or _only(asked, kind, has)
    if found is None:
        wanted = " ".join(filter(None, [kind, repr(asked)]))
        raise UnusableAnswer(f"task {task_id} names {wanted}, which this robot doesn't have: it has {has.names()}")
    return found


def _named(asked: str, kind: ExecutorType | None, has: Resources, *rules: Rule) -> Means | None:
    """First among those of its type, then among all: a type that contradicts the name is mended."""
    of_kind = has.of(kind) if kind is not None else list(has.means)
    for among in (of_kind, list(has.means)):
        for rule in rules:
            matching = [each for each in among if rule(asked)(each)]
            if len(matching) == 1:
                return matching[0]
    return None


def _method(asked: str, has: Resources) -> Means | None:
    process = model_process(asked, has.models)
    return Means(ExecutorType.PROCESS, process.name, idempotent=process.idempotent) if process else None


def _only(asked: str, kind: ExecutorType | None, has: Resources) -> Means | None:
    """The only assistant takes tasks without an executor; a tool or process is guessed only if no name was given."""
    of_kind = has.of(kind or ExecutorType.ASSISTANT)
    guessed = kind in (None, ExecutorType.ASSISTANT) or not asked
    return of_kind[0] if len(of_kind) == 1 and guessed else None


def _type(raw: dict[str, Any]) -> ExecutorType | None:
    given = str(raw.get("executor_type") or "").casefold()
    if given in tuple(ExecutorType):
        return ExecutorType(given)
    if raw.get("mcp_tool"):
        return ExecutorType.MCP
    return ALIASES.get(given)


def _tool(server: str, tool: str, has: Resources) -> Means | None:
    known = [each for each in has.of(ExecutorType.MCP) if (each.server, each.tool) == (server, tool)]
    if known:
        return known[0]
    return Means(ExecutorType.MCP, f"{server}.{tool}", server, tool) if server in has.open_servers else None


def _open(asked: str, has: Resources) -> Means | None:
    """An unlisted tool of a server whose tools may all be used; its id may contain dots."""
    for server in sorted(has.open_servers, key=len, reverse=True):
        if asked.startswith(f"{server}.") and len(asked) > len(server) + 1:
            return Means(ExecutorType.MCP, asked, server, asked.removeprefix(f"{server}."))
    return None


def _exactly(asked: str) -> Callable[[Means], bool]:
    folded = _folded(asked)
    return lambda each: each.id == asked or _folded(each.id) == folded


def _partly(asked: str) -> Callable[[Means], bool]:
    folded = _folded(asked)
    return lambda each: bool(folded) and any(folded in name or name in folded for name in _names(each))


def _names(each: Means) -> Sequence[str]:
    """Its id; of a tool its own name too, which planners often write alone."""
    return [_folded(each.id), *([_folded(each.tool)] if each.tool else [])]


def _folded(name: str) -> str:
    return name.casefold().translate(SAME)
