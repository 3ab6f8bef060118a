"""The turn of an agent that is called without a run: a task's loop, saved with the call at each move."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from executor.agents.connectors import Connector
from executor.agents.prompt_files import Agent
from executor.agents.team_view import TeamView
from executor.call_port import Calls
from executor.domain.calls.callee import of_tool, of_unlisted
from executor.domain.calls.duplicates import END_AFTER, before, stalled_rounds
from executor.domain.calls.order import AskPerson, Begin, Proposed, Refuse, decide
from executor.domain.calls.policy import Policy, permitted, stricter
from executor.domain.conversation import loop
from executor.domain.conversation.call_turn import NO_PERSON, called, is_full, resumed
from executor.domain.conversation.chat import ModelReply, Tool, ToolCall
from executor.domain.conversation.found_tools import offered, uses_in
from executor.domain.conversation.messages import TOOL_LIMIT
from executor.domain.planning.answer import LENGTH_LIMIT, thinking_of
from executor.domain.planning.arguments import fitted
from executor.domain.skills import listed
from executor.domain.used_tools import agent_of
from executor.steps.offer_tools import all_tools
from executor.tool_ports import NO_MEANS, OwnMeans, ToolFailed, Tools
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_contracts.agent_ids import of_platform
from rota_contracts.ids import derived_id
from rota_contracts.messages.agent import CallAgent, CalledTool
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import ALL
from rota_contracts.robots.resources import MCPServer
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

ROLE = Role.MEMBER
"""The role that a call acts in: members and programs that may call have it at least."""


class ClaimLost(Exception):
    """The call is another replica's now, or was aborted."""


@dataclass(frozen=True)
class Asked:
    """What the model is asked with: the rounds so far, the tools for its next answer, and why there are no more.
    `skills`: the section of its prompt about them."""

    turn: Turn
    tools: Sequence[Tool] = ()
    closing: int | None = None
    stalled: int = 0
    skills: str = ""

    @property
    def iteration(self) -> int:
        return len(self.turn.rounds)


@dataclass(frozen=True)
class Thought:
    """The model's reply, understood, and the connector that it came by."""

    reply: ModelReply
    text: str
    calls: Sequence[ToolCall]
    connector: Connector


Think = Callable[[Asked], Awaitable[Thought]]


@dataclass(frozen=True, kw_only=True)
class Caller:
    """In whose name an agent is called. `robot`: that of the call, or one that has the agent's own servers; `own`: what
    its team has. `again`: how often a hook has let its model go on; each time is a turn of its own."""

    request: CallAgent
    agent: Agent
    robot: Robot
    policy: Policy
    mode: ExecutorMode
    own: OwnMeans = NO_MEANS
    again: int = 0


def caller_of(
    request: CallAgent, agent: Agent, robot: Robot | None, mode: ExecutorMode, *, view: TeamView, again: int = 0
) -> Caller | None:
    """None for a call that has no tools: in the course of a run, of the platform's agents, and of an unknown robot."""
    if request.execution_id or of_platform(agent.id):
        return None
    if robot is None and request.member_id != ALL:
        return None
    acting = robot if robot is not None else _robot_of(request, agent)
    config = acting.robot_config
    policy = Policy(
        autonomy=stricter(config.autonomy, agent.autonomy),
        approvals=config.approvals,
        harmless=mode is not ExecutorMode.STANDARD,
        roles=config.roles,
        role=ROLE,
    )
    return Caller(request=request, agent=agent, robot=acting, policy=policy, mode=mode, own=view.own, again=again)


@dataclass(frozen=True, kw_only=True)
class CallWithTools:
    """`recording` stands in for `tools` in the name of a robot that isn't in standard mode. A round is saved before its
    calls are made, and each result when it is there, so another replica goes on where this one died."""

    calls: Calls
    tools: Tools
    recording: Tools
    clock: Clock
    owner: str

    async def __call__(self, caller: Caller, think: Think) -> tuple[Thought, list[CalledTool]]:
        """The answer, and the calls before it. Raises ClaimLost, and what `think` raises."""
        mine = await self._mine(caller)
        call_id, agent = caller.request.call_id, caller.agent
        turn, again = resumed(await self._turn(caller), at=self.clock())
        while True:
            match loop.move(turn, serial=agent.serial):
                case loop.Think():
                    asked = _asked(turn, mine, caller)
                    thought = await think(asked)
                    if not thought.calls or not asked.tools:
                        return thought, called(turn)
                    turn = self._with_round(caller, asked, thought)
                    await self._save(call_id, turn)
                case loop.Begin(uses):
                    turn = self._begun(caller, turn, uses[:1] if agent.serial else uses, mine, again)
                    await self._save(call_id, turn)
                case loop.Act(uses):
                    turn = await self._act(caller, turn, uses)
                case loop.Wait():
                    raise AssertionError("no call waits for a person here")

    async def _turn(self, caller: Caller) -> Turn:
        """As far as it was saved; that of an earlier answer is over."""
        there, number = await self.calls.turn(caller.request.call_id), caller.again + 1
        return there if there is not None and there.number == number else Turn(number=number)

    async def _mine(self, caller: Caller) -> Sequence[Tool]:
        """The tools that this agent may use, but those whose work another agent does."""
        listed = await all_tools(self._tools(caller), caller.robot, caller.agent.uses)
        allowed = permitted(listed, caller.policy)
        return [tool for tool in allowed if caller.agent.may_use(tool) and not agent_of(tool.server)]

    def _tools(self, caller: Caller) -> Tools:
        tools = self.tools if caller.mode is ExecutorMode.STANDARD else self.recording
        return tools.with_own(caller.own)

    def _with_round(self, caller: Caller, asked: Asked, thought: Thought) -> Turn:
        of, again = caller.request, [caller.again] if caller.again else []
        step_id = derived_id("call", of.team_id, of.call_id, *again, asked.iteration)
        uses = loop.uses_of(thought.calls, asked.tools, step_id=step_id)
        said = thinking_of(thought.reply)
        size = len(thought.text) + len(said) + sum(len(call.model_dump_json()) for call in thought.calls)
        if size > LENGTH_LIMIT:
            raise Permanent(f"expected at most {LENGTH_LIMIT} characters of agent {caller.agent.id}, got {size}")
        thinking = Text(inline=said) if said else None
        return loop.with_round(asked.turn, thought.text, uses, at=self.clock(), thinking=thinking)

    def _begun(
        self, caller: Caller, turn: Turn, uses: Sequence[ToolUse], mine: Sequence[Tool], again: frozenset[str]
    ) -> Turn:
        """The turn after the checks of these calls, each compared with those before it."""
        fit, refused, passed = list[ToolUse](), dict[str, str](), list[ToolUse]()
        for use in uses:
            listed = next((each for each in mine if (each.server, each.tool) == (use.server, use.tool)), None)
            callee = of_tool(listed) if listed is not None else of_unlisted(use)
            if isinstance(use.arguments, dict):
                use = use.model_copy(update={"arguments": fitted(use.arguments, callee.parameters)})
            earlier = [*before(turn, use), *passed]
            proposed = Proposed(use, callee, caller.policy, before=earlier, cleared=use.step_id in again)
            fit.append(use)
            match decide(proposed):
                case Refuse(reason):
                    refused[use.step_id] = reason
                case AskPerson(reason):
                    refused[use.step_id] = NO_PERSON.format(reason)
                case Begin():
                    passed.append(use.model_copy(update={"status": ToolStatus.STARTED}))
                case _:
                    raise AssertionError("there are no hooks here")
        return loop.begin(turn, fit, refused=refused, waiting=(), at=self.clock())

    async def _act(self, caller: Caller, turn: Turn, uses: Sequence[ToolUse]) -> Turn:
        """The turn after these calls, all made at once; each result is saved as soon as it is there."""
        making = [asyncio.create_task(self._made(caller, use)) for use in uses]
        try:
            for done in asyncio.as_completed(making):
                step_id, output, error = await done
                turn = loop.record_result(turn, step_id, output, error, at=self.clock())
                await self._save(caller.request.call_id, turn)
        finally:
            for each in making:
                each.cancel()
            await asyncio.gather(*making, return_exceptions=True)
        return turn

    async def _made(self, caller: Caller, use: ToolUse) -> tuple[str, Text | None, str | None]:
        """A server that isn't there is an answer, too: a caller waits."""
        team, robot = caller.request.team_id, caller.robot
        try:
            answer = await self._tools(caller).call(use, team=team, robot=robot, role=caller.policy.role)
        except (ToolFailed, Transient, Permanent) as error:
            return use.step_id, None, excerpt(str(error), TOOL_LIMIT)
        return use.step_id, Text(inline=excerpt(answer, TOOL_LIMIT)), None

    async def _save(self, call_id: str, turn: Turn) -> None:
        if not await self.calls.save_turn(call_id, turn, owner=self.owner):
            raise ClaimLost(call_id)


def _asked(turn: Turn, mine: Sequence[Tool], caller: Caller) -> Asked:
    """Without tools once there have been enough rounds, too many without anything new, or the turn is full."""
    stalled, cap = stalled_rounds(turn), caller.agent.max_iterations or loop.CAP
    capped = len(turn.rounds) >= cap or is_full(turn)
    tools = () if capped or stalled >= END_AFTER else offered(mine, uses_in(turn.rounds))
    closing = len(turn.rounds) if capped and turn.rounds else None
    return Asked(turn, tools, closing, stalled, listed(caller.own.skills, tools))


def _robot_of(request: CallAgent, agent: Agent) -> Robot:
    """One that has the servers of the agent's file, and nothing else."""
    own = (agent.servers or {}).items()
    mcp = [MCPServer(id=name, tools=sorted(tools or ())) for name, tools in own if tools is None or tools]
    config = {"identity": {"role": agent.id}, "resources": {"mcp": [each.model_dump() for each in mcp]}}
    return Robot.model_validate({"member_id": ALL, "team_id": request.team_id, "robot_config": config})
