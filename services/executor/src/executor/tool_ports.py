"""The ports of tools: those of MCP servers and built-in ones, and the processes of teams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from executor.domain.conversation.chat import Tool
from executor.domain.skills import Skill
from rota_common.errors import Transient
from rota_contracts.definitions.definition import Definition
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role


class NotBegun(Transient):
    """A call certainly didn't reach the other side: it may be repeated."""


class SecretsAway(NotBegun):
    """A team's secrets can't be read now."""


class ToolFailed(Exception):
    """A tool or process was called, and failed or gave no answer; the text is its error."""


@dataclass(frozen=True)
class OwnMeans:
    """What a team has at one state of its definitions: MCP servers of its own, by id, each at the revision that is to
    be used; and all skills that it may use."""

    servers: Mapping[str, Definition] = field(default_factory=dict)
    skills: Sequence[Skill] = ()


NO_MEANS = OwnMeans()


class Tools(Protocol):
    """The tools of robots."""

    def with_own(self, own: OwnMeans) -> "Tools":
        """These, and beside them those of a team's own servers; what the platform has for this team goes before. A
        search for skills finds those of the team."""
        ...

    async def list(self, robot: Robot) -> Sequence[Tool]:
        """The tools that this robot may use, of those of its servers that are configured here and answer; by name."""
        ...

    def problems(self, robot: Robot) -> Sequence[str]:
        """Why servers that the robot names gave no tools at the last listing; for people."""
        ...

    async def call(
        self, use: ToolUse, *, team: str, role: Role, robot: Robot | None = None, timeout: float | None = None
    ) -> str:
        """Call `use.tool` of `use.server` once, in the team's name (a built-in tool in the robot's) and its run's role;
        returns its answer as text. Raises NotBegun, or ToolFailed, also for a server that isn't for this team."""
        ...


class Processes(Protocol):
    """Processes of the teams, answered by programs on NATS."""

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        """Call it once; returns its answer as text (JSON if it is JSON), or None if it promises its result for later.
        Raises NotBegun, or ToolFailed."""
        ...
