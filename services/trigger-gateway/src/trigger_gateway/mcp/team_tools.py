"""The tools that a key may use: one for each public agent and for each robot, and those about executions."""

import re
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import Field

from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.provider import AgentCard
from rota_contracts.messages.trigger import Message, TriggerType
from rota_contracts.model import Json
from rota_contracts.robots.robot import Robot
from trigger_gateway.agents.call_team_agent import AgentCall
from trigger_gateway.mcp.execution_view import shown
from trigger_gateway.mcp.tool import Outcome, Tool
from trigger_gateway.problems import NotFound
from trigger_gateway.runs.follow_execution import MOST_WAIT_S, Progress
from trigger_gateway.runs.request_run import RunRequest
from trigger_gateway.strict import Strict
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.roles import needed
from trigger_gateway.use_cases import UseCases

NAME_LIMIT = 64
"""Characters of a tool's name that all clients take."""

ASK, RUN = "ask_", "run_"
"""How the names of tools begin that are agents, and robots."""

OTHER = re.compile(r"[^A-Za-z0-9_-]")
ABOUT = 500
"""Characters of a description."""


class Ask(Strict):
    message: str = Field(min_length=1, description="what to ask")
    chat_id: str | None = Field(default=None, max_length=200, description="the conversation that it belongs to")
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=DEFAULT_TIMEOUT_S, description="seconds")


class Run(Strict):
    message: str = Field(min_length=1, description="what the robot is to do")
    request_id: str | None = Field(default=None, max_length=255, description="the same for a repeat of this request")


class Status(Strict):
    execution_id: str = Field(min_length=1)
    wait: float = Field(default=0, ge=0, le=MOST_WAIT_S, description="seconds to wait for its end; progress is sent")


class Cancel(Strict):
    execution_id: str = Field(min_length=1)
    reason: str = Field(default="", max_length=500)


@dataclass(frozen=True, kw_only=True)
class TeamTools:
    """What `caller` may use of `team`."""

    use: UseCases
    team: str
    caller: Caller

    async def offered(self) -> Sequence[Tool[Any]]:
        """Raise Transient when the executor doesn't answer."""
        return self._allowed([*await self._asks(), *await self._runs(), *self._about_executions()])

    async def find(self, name: str) -> Tool[Any]:
        """Only what may have the name is looked up. Raise NotFound, also for one that this key may not use."""
        if name.startswith(ASK):
            tools = await self._asks()
        elif name.startswith(RUN):
            tools = await self._runs()
        else:
            tools = self._about_executions()
        for tool in self._allowed(tools):
            if tool.name == name:
                return tool
        raise NotFound("tool_not_found", f"there is no tool {name} for this key: list the tools anew")

    def _allowed(self, tools: Sequence[Tool[Any]]) -> list[Tool[Any]]:
        return [tool for tool in tools if self.caller.role.covers(needed(tool.route))]

    async def _asks(self) -> Sequence[Tool[Any]]:
        agents = await self.use.offered.find.public_agents(self.team)
        names = _names(ASK, [card.id for card in agents])
        return [self._ask(name, card) for name, card in zip(names, agents, strict=True)]

    async def _runs(self) -> Sequence[Tool[Any]]:
        robots = await self.use.offered.find.startable_robots(self.team)
        names = _names(RUN, [robot.member_id for robot in robots])
        return [self._run(name, robot) for name, robot in zip(names, robots, strict=True)]

    def _about_executions(self) -> Sequence[Tool[Any]]:
        status = Tool(
            name="execution_status",
            description=STATUS_WORDS,
            parameters=Status,
            route="read_execution",
            use=self._status,
        )
        cancel = Tool(
            name="cancel_execution",
            description=CANCEL_WORDS,
            parameters=Cancel,
            route="stop_execution",
            use=self._cancel,
            changes=True,
        )
        return [status, cancel]

    def _ask(self, name: str, card: AgentCard) -> Tool[Ask]:
        async def ask(given: Ask, progress: Progress) -> Outcome:
            call = AgentCall(
                card.id,
                [Message(content=given.message)],
                timeout=given.timeout,
                chat_id=given.chat_id,
                user=await self.use.people.person_of(self.team, self.caller),
            )
            question, reply = await self.use.offered.ask(self.team, call)
            data = {"agent_id": reply.agent_id, "content": reply.content, "response": reply.whole_response()}
            return Outcome(reply.content, {**data, "chat_id": question.chat_id})

        words = f"Asks {card.name}, and waits for the answer. {card.description}"
        return Tool(name=name, description=words.strip()[:ABOUT], parameters=Ask, route="call_agent", use=ask)

    def _run(self, name: str, robot: Robot) -> Tool[Run]:
        async def run(given: Run, progress: Progress) -> Outcome:
            wanted = RunRequest(TriggerType.HUMAN, [Message(content=given.message)], key=given.request_id)
            answer = await self.use.request_run(self.team, robot.member_id, wanted, role=self.caller.role)
            data: dict[str, Json] = {"execution_id": answer.execution_id, "status": answer.status}
            text = f"Execution {answer.execution_id}: {answer.message}. execution_status shows what comes of it."
            return Outcome(text, data)

        identity = robot.robot_config.identity
        duties = "; ".join(identity.duties)
        words = f"Gives {robot.display_name or robot.member_id} ({identity.role}) something to do. {duties}"
        return Tool(name=name, description=words.strip()[:ABOUT], parameters=Run, route="trigger", use=run)

    async def _status(self, given: Status, progress: Progress) -> Outcome:
        follow = self.use.offered.follow
        with self.use.streams.held(self.team) if given.wait else nullcontext():
            data = shown(await follow(self.team, given.execution_id, within=given.wait, progress=progress))
        return Outcome(str(data.get("answer") or data.get("question") or data.get("error") or data["status"]), data)

    async def _cancel(self, given: Cancel, progress: Progress) -> Outcome:
        await self.use.control.one(self.team, given.execution_id, ControlAction.STOP, given.reason)
        text = f"Execution {given.execution_id} is cancelled: nothing more of it is delivered."
        return Outcome(text, {"execution_id": given.execution_id})


STATUS_WORDS = (
    "Shows an execution: its status, phase and progress, the question that it asks, and its result at the end. "
    "With wait it answers at the end or when that many seconds are over."
)
CANCEL_WORDS = "Cancels an execution."


def _names(prefix: str, ids: Iterable[str]) -> list[str]:
    """A tool's name for each id, as clients take it; where two would be the same or too long, with a digest."""
    names = list[str]()
    for each in ids:
        name = prefix + OTHER.sub("_", each)
        if len(name) > NAME_LIMIT or name in names:
            name = f"{name[: NAME_LIMIT - 9]}_{sha256(each.encode()).hexdigest()[:8]}"
        names.append(name)
    return names
