"""Tools and processes whose answers and errors hold no credentials: hidden before they are stored or shown to a model.

Also the values of the team's own secrets that were read here, such as a key that a server sends back.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import StepDelayed, StepFailed
from executor.tool_ports import NotBegun, OwnMeans, Processes, ToolFailed, Tools
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.process import ProcessCall
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

KnownValues = Callable[[str], Collection[str]]
"""Of a team: the values of its secrets that were read here."""


@dataclass(frozen=True)
class RedactedTools:
    tools: Tools
    known: KnownValues

    def with_own(self, own: OwnMeans) -> "RedactedTools":
        return replace(self, tools=self.tools.with_own(own))

    async def list(self, robot: Robot) -> Sequence[Tool]:
        return await self.tools.list(robot)

    def problems(self, robot: Robot) -> Sequence[str]:
        known = self.known(robot.team_id)
        return [without_credentials(problem, known) for problem in self.tools.problems(robot)]

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        try:
            answer = await self.tools.call(use, team=team, robot=robot, role=role, timeout=timeout)
        except (NotBegun, ToolFailed, Permanent) as error:
            raise _redacted(error, self.known(team)) from error
        return without_credentials(answer, self.known(team))


@dataclass(frozen=True)
class RedactedProcesses:
    processes: Processes
    known: KnownValues

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        try:
            answer = await self.processes.call(name, call, timeout=timeout)
        except (NotBegun, ToolFailed, Permanent) as error:
            raise _redacted(error, self.known(call.team_id)) from error
        return None if answer is None else without_credentials(answer, self.known(call.team_id))


def failure_of(error: Permanent | Transient) -> StepFailed | StepDelayed:
    """The outcome of a step that failed; errors quote what others wrote."""
    reason = without_credentials(str(error))
    return StepFailed(reason) if isinstance(error, Permanent) else StepDelayed(reason, error.after)


def _redacted(error: Exception, known: Collection[str]) -> Exception:
    """The same error, with a text that may be shown."""
    error.args = (without_credentials(str(error), known), *error.args[1:])
    return error
