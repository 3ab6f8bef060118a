"""The caller of an agent without a run: the name, the rights and the time that its tools have."""

from dataclasses import dataclass
from math import inf

from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.domain.calls.callers import refusal
from executor.domain.calls.policy import Policy, stricter
from executor.domain.used_tools import agent_of
from executor.robot_hooks import RobotHooks
from executor.steps.used_agents import AskAgent, no_agents
from executor.tool_ports import NO_MEANS, OwnMeans
from rota_contracts.agent_ids import of_platform
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import ALL
from rota_contracts.robots.resources import MCPServer
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

ROLE = Role.MEMBER
"""The role that a call acts in: members and programs that may call have it at least."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """In whose name an agent is called. `robot`: that of the call, or one that has the agent's own servers; `own`: what
    its team has. `again`: how often a hook has let its model go on; each time is a turn of its own. `ask_agent`
    asks those that do the work of its tools, until the call's time is over: `until`, by the monotonic clock. `hooks`:
    the robot's."""

    request: CallAgent
    agent: Agent
    robot: Robot
    policy: Policy
    mode: ExecutorMode
    own: OwnMeans = NO_MEANS
    again: int = 0
    ask_agent: AskAgent = no_agents
    until: float = inf
    hooks: RobotHooks | None = None

    @property
    def callers(self) -> list[str]:
        """The agents that wait for an agent which is asked here."""
        return [*self.request.callers, self.agent.id]

    def refusal(self, server: str | None) -> str:
        """Why the agent that does the work of a tool can't be asked; empty if it can, or if no agent does it."""
        agent_id = agent_of(server)
        return refusal(agent_id, self.callers) if agent_id else ""


def caller_of(
    request: CallAgent,
    agent: Agent,
    robot: Robot | None,
    mode: ExecutorMode,
    *,
    view: TeamView,
    again: int = 0,
    ask_agent: AskAgent = no_agents,
    until: float = inf,
    hooks: RobotHooks | None = None,
) -> Caller | None:
    """None for a call that has no tools: in the course of a run, of the platform's agents, and of an unknown robot."""
    if request.execution_id or of_platform(agent.id):
        return None
    if robot is None and request.member_id != ALL:
        return None
    acting = robot if robot is not None else _robot_of(request, agent)
    config = acting.robot_config
    policy = Policy(
        autonomy=stricter(stricter(config.autonomy, agent.autonomy), request.autonomy),
        approvals=config.approvals,
        harmless=mode is not ExecutorMode.STANDARD,
        roles=config.roles,
        role=ROLE,
    )
    return Caller(
        request=request,
        agent=agent,
        robot=acting,
        policy=policy,
        mode=mode,
        own=view.means_of(agent),
        again=again,
        ask_agent=ask_agent,
        until=until,
        hooks=hooks,
    )


def _robot_of(request: CallAgent, agent: Agent) -> Robot:
    """One that has the servers of the agent's file, and nothing else."""
    own = (agent.servers or {}).items()
    mcp = [MCPServer(id=name, tools=sorted(tools or ())) for name, tools in own if tools is None or tools]
    config = {"identity": {"role": agent.id}, "resources": {"mcp": [each.model_dump() for each in mcp]}}
    return Robot.model_validate({"member_id": ALL, "team_id": request.team_id, "robot_config": config})
