"""The tools that a key may use: one for each public agent and for each robot, and those about executions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import Field

from rota_contracts.catalog import LIST_AGENTS
from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S
from rota_contracts.messages.control import ControlAction
from rota_contracts.messages.provider import AgentCard, ListAgents
from rota_contracts.messages.trigger import Message, TriggerType
from rota_contracts.model import Json
from trigger_gateway import rpc
from trigger_gateway.agents.call_team_agent import AgentCall
from trigger_gateway.http.dependencies import Strict
from trigger_gateway.mcp.follow_execution import MOST_WAIT_S, follow
from trigger_gateway.mcp.tool import Outcome, Progress, Tool
from trigger_gateway.problems import Failed, NotFound
from trigger_gateway.robots.record import RobotView
from trigger_gateway.runs.request_run import RunRequest
from trigger_gateway.teams.authenticate import Caller
from trigger_gateway.teams.roles import needed
from trigger_gateway.use_cases import UseCases

NAME_LIMIT = 64
"""Characters of a tool's name that all clients take."""

MOST_ROBOTS = 500
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
        found = await rpc.call(self.use.ask, LIST_AGENTS, ListAgents(team_id=self.team))
        views = await self.use.view_robots.page(self.team, page=1, page_size=MOST_ROBOTS)
        agents = [card for card in found.agents if card.public]
        robots = [each for each in views.robots if each.robot_config.triggers.intervene.enabled]
        asks = zip(_names("ask_", [card.id for card in agents]), agents, strict=True)
        runs = zip(_names("run_", [robot.member_id for robot in robots]), robots, strict=True)
        tools: list[Tool[Any]] = [self._ask(name, card) for name, card in asks]
        tools += [self._run(name, robot) for name, robot in runs]
        tools += [
            Tool(
                name="execution_status",
                description=STATUS_WORDS,
                parameters=Status,
                route="read_execution",
                use=self._status,
            ),
            Tool(
                name="cancel_execution",
                description=CANCEL_WORDS,
                parameters=Cancel,
                route="stop_execution",
                use=self._cancel,
                changes=True,
            ),
        ]
        return [tool for tool in tools if self.caller.role.covers(needed(tool.route))]

    async def find(self, name: str) -> Tool[Any]:
        """Raise NotFound, also for one that this key may not use."""
        for tool in await self.offered():
            if tool.name == name:
                return tool
        raise NotFound("tool_not_found", f"there is no tool {name} for this key: list the tools anew")

    def _ask(self, name: str, card: AgentCard) -> Tool[Ask]:
        async def ask(given: Ask, progress: Progress) -> Outcome:
            call = AgentCall(card.id, [Message(content=given.message)], timeout=given.timeout, chat_id=given.chat_id)
            question = await self.use.call_agent.prepare(self.team, call)
            with self.use.calls.held(self.team):
                reply = await self.use.call_agent.answer(question)
            if reply.error:
                raise Failed("no_answer", f"agent {card.id} has no answer: {reply.error}")
            data = {"agent_id": reply.agent_id, "content": reply.content, "response": reply.response}
            return Outcome(reply.content, {**data, "chat_id": question.chat_id})

        words = f"Asks {card.name}, and waits for the answer. {card.description}"
        return Tool(name=name, description=words.strip()[:ABOUT], parameters=Ask, route="call_agent", use=ask)

    def _run(self, name: str, robot: RobotView) -> Tool[Run]:
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
        data = await follow(self.use, self.team, given.execution_id, within=given.wait, progress=progress)
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
