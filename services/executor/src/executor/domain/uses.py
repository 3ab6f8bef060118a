"""The services of an agent: who searches, sees, hears, fetches and searches the web for it (`uses`)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from rota_contracts.agent_ids import platform_name
from rota_contracts.messages.agent import Service

DISABLED, BUILTIN, BY_TOOL = "disabled", "builtin", "mcp:"
AGENT_ID = re.compile(r"[\w.-]+", re.ASCII)

EXPECTED = f"{DISABLED}, {BUILTIN}, the id of an agent, or {BY_TOOL}<server>.<tool>"

SERVICES: tuple[Service, ...] = get_args(Service)

BUILT_IN_SERVICES: frozenset[Service] = frozenset({"search", "fetch", "keyword", "querydsl", "rerank"})
"""Those that Rota can do itself."""


class UsesError(ValueError):
    """A value of `uses` that can't be: names the field, and says what is expected."""


@dataclass(frozen=True)
class ByAgent:
    agent_id: str


@dataclass(frozen=True)
class ByTool:
    """A tool of an MCP server. The name of a server may have dots, that of the tool has none."""

    server: str
    tool: str


Provider = Literal["builtin"] | ByAgent | ByTool
"""Who does it."""


@dataclass(frozen=True)
class Uses:
    """Of each service, who does it, as it is written: empty = as the next level says."""

    search: str = ""
    vision: str = ""
    audio: str = ""
    fetch: str = ""
    web: str = ""
    keyword: str = ""
    querydsl: str = ""
    rerank: str = ""

    def of(self, service: Service) -> Provider | None:
        """None: it isn't done."""
        return _provider(getattr(self, service))

    def providers(self) -> Iterator[tuple[Service, Provider]]:
        """All that is done."""
        for service in SERVICES:
            if (provider := self.of(service)) is not None:
                yield service, provider


NO_USES = Uses()


def read_uses(given: Any) -> Uses:
    """From what a file says. Raises UsesError for the first field that is wrong."""
    if given is None:
        return NO_USES
    if not isinstance(given, Mapping):
        raise UsesError(f"uses: expected a mapping of {', '.join(SERVICES)}, got {given!r}")
    if unknown := sorted(map(str, given.keys() - {*SERVICES})):
        raise UsesError(f"uses: expected some of {', '.join(SERVICES)}, got {', '.join(unknown)}")
    return Uses(**{service: _read(service, given[service]) for service in SERVICES if service in given})


def describer(uses: Uses, capability: str) -> ByAgent | ByTool | None:
    """Who describes what an agent's own model can't take, for want of this capability."""
    services: dict[str, Service] = {"vision": "vision", "audio": "audio"}
    provider = uses.of(services[capability]) if capability in services else None
    return provider if isinstance(provider, (ByAgent, ByTool)) else None


def merged(*levels: Uses) -> Uses:
    """The first level that says something decides, for each service by itself: what a hook of the call says, then the
    call, the agent, the platform."""
    names = [each.name for each in fields(Uses)]
    return Uses(**{name: next((said for level in levels if (said := getattr(level, name))), "") for name in names})


def _read(service: Service, given: Any) -> str:
    if given is None or given == "":
        return ""
    if not isinstance(given, str):
        raise UsesError(f"uses.{service}: expected {EXPECTED} as a text, got {given!r}")
    if given == DISABLED:
        return given
    if problem := _problem(service, given):
        raise UsesError(f"uses.{service}: expected {problem}, got {given!r}")
    return platform_name(given)


def _problem(service: Service, given: str) -> str:
    """What is expected in place of a value; empty for one that can be."""
    if given == BUILTIN:
        able = f"an agent or {BY_TOOL}<server>.<tool>"
        return "" if service in BUILT_IN_SERVICES else f"{able}, because none is built in"
    if given.startswith(BY_TOOL):
        server, _, tool = given.removeprefix(BY_TOOL).rpartition(".")
        return "" if server and tool else f"{BY_TOOL}<server>.<tool>"
    return "" if AGENT_ID.fullmatch(given) else EXPECTED


def _provider(said: str) -> Provider | None:
    if said in ("", DISABLED):
        return None
    if said == BUILTIN:
        return "builtin"
    if said.startswith(BY_TOOL):
        server, _, tool = said.removeprefix(BY_TOOL).rpartition(".")
        return ByTool(server, tool)
    return ByAgent(said)
