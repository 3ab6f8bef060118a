"""Adapters in memory, for tests; stores are held to the same conformance cases as the real ones."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from executor.adapters.in_memory_budget import ConnectorPrices, InMemoryBudget
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.in_memory_team_definitions import InMemoryDefinitions
from executor.adapters.recording_tools import RecordingProcesses, RecordingTools
from executor.adapters.rehearsal_model import RehearsalModel
from executor.domain.calls_under_way import aborted, call_under_way
from executor.domain.conversation.chat import ModelReply, Tool
from executor.file_ports import Page, Picture
from executor.model_port import Prompt
from executor.ports import Adapters
from executor.tool_ports import OwnMeans
from rota_common.clock import Clock, now
from rota_common.errors import Permanent, Transient
from rota_common.stores.blobs import Owner, text_of
from rota_common.testing import in_memory_stores
from rota_common.testing.in_memory_stores import InMemoryAttachments, InMemoryTeamDocuments
from rota_contracts.messages.agent import CALLS_LISTED, AgentReply, CallAgent, CallUnderWay
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.conversation import ToolUse, Turn
from rota_contracts.messages.process import ProcessCall
from rota_contracts.messages.text import INLINE_LIMIT, Text
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role


def in_memory(*robots: Robot, **given: Any) -> Adapters:
    """Every adapter, with these robots; `given` replaces some by name. Models are rehearsed."""
    made: dict[str, Any] = {
        "runs": InMemoryRuns(),
        "calls": InMemoryCalls(),
        "blobs": InMemoryBlobs(),
        "files": InMemoryFiles(),
        "pictures": ScriptedPictures(),
        "pages": ScriptedPages(),
        "robots": InMemoryRobots(*robots),
        "model": RehearsalModel(),
        "rehearsal": RehearsalModel(),
        "tools": ScriptedTools(),
        "processes": ScriptedProcesses(),
        "recording_tools": RecordingTools({}),
        "recording_processes": RecordingProcesses(),
        "budget": InMemoryBudget(),
        "prices": ConnectorPrices(),
        "team_documents": InMemoryTeamDocuments(),
        "definitions": InMemoryDefinitions(),
    }
    return Adapters(**(made | given))


class InMemoryCalls:
    """`clock` is the store's own, as a database has one."""

    def __init__(self, *, clock: Clock = now) -> None:
        self._answers: dict[str, AgentReply] = {}
        self._claims: dict[str, tuple[str, datetime]] = {}
        self._shown: dict[str, tuple[str, CallUnderWay]] = {}
        self._kept: dict[tuple[str, str], str] = {}
        self._turns: dict[str, Turn] = {}
        self.clock = clock

    async def claim(
        self, call_id: str, *, team: str, owner: str, lease: timedelta, shown: CallAgent | None = None
    ) -> AgentReply | bool:
        if call_id in self._answers:
            return self._answers[call_id]
        if call_id in self._claims and self._claims[call_id][1] > self.clock():
            return False
        self._claims[call_id] = owner, self.clock() + lease
        if shown is not None:
            self._shown.setdefault(call_id, (team, call_under_way(shown, self.clock())))
        return True

    async def renew(self, call_id: str, *, owner: str, lease: timedelta) -> bool:
        if call_id in self._answers or self._claims.get(call_id, ("",))[0] != owner:
            return False
        self._claims[call_id] = owner, self.clock() + lease
        return True

    async def release(self, call_id: str, *, owner: str) -> None:
        if call_id in self._claims and self._claims[call_id][0] == owner:
            del self._claims[call_id]
            self._shown.pop(call_id, None)

    async def turn(self, call_id: str) -> Turn | None:
        return self._turns.get(call_id)

    async def save_turn(self, call_id: str, turn: Turn, *, owner: str) -> bool:
        if call_id in self._answers or self._claims.get(call_id, ("",))[0] != owner:
            return False
        self._turns[call_id] = turn
        return True

    async def remember(self, call_id: str, answer: AgentReply) -> AgentReply:
        self._shown.pop(call_id, None)
        self._turns.pop(call_id, None)
        return self._answers.setdefault(call_id, answer)

    async def keep(self, call_id: str, name: str, text: str, *, team: str) -> str:
        return self._kept.setdefault((call_id, name), text)

    async def kept(self, call_id: str, name: str) -> str | None:
        return self._kept.get((call_id, name))

    async def under_way(self, team: str, *, chat_id: str | None = None) -> Sequence[CallUnderWay]:
        found = [
            call
            for owner, call in self._shown.values()
            if owner == team and chat_id in (None, call.chat_id) and self._claims[call.id][1] > self.clock()
        ]
        return sorted(found, key=lambda call: (call.began_at, call.id), reverse=True)[:CALLS_LISTED]

    async def abort(self, call: CallUnderWay, *, team: str) -> bool:
        if call not in await self.under_way(team):
            return False
        await self.remember(call.id, aborted(call))
        return True


class InMemoryRobots:
    def __init__(self, *robots: Robot) -> None:
        self._robots: dict[tuple[str, str], Robot] = {}
        for robot in robots:
            self.put(robot)

    def put(self, robot: Robot) -> None:
        self._robots[robot.team_id, robot.member_id] = robot

    async def find(self, team: str, member: str) -> Robot | None:
        return self._robots.get((team, member))

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        return await self.find(team, member)


@dataclass(eq=False)
class InMemoryBlobs(in_memory_stores.InMemoryBlobs):
    full: int = 0
    """The next attempts to store a text, each of which is refused."""

    async def keep(self, text: str, *, owner: Owner, inline_limit: int = INLINE_LIMIT) -> Text:
        if self.full and text_of(text, inline_limit=inline_limit).ref is not None:
            self.full -= 1
            raise Transient("the object store is full")
        return await super().keep(text, owner=owner, inline_limit=inline_limit)


class InMemoryFiles(InMemoryAttachments):
    async def keep(self, team: str, file_id: str, name: str, content_type: str, content: bytes) -> StoredAttachment:
        if (there := await self.find(team, file_id)) is not None:
            return there
        return self.add(team, name, content, content_type=content_type, at=now(), file_id=file_id)


class ScriptedPictures:
    """`there`: pictures by their addresses; an exception is raised. `asked`: the addresses that were fetched."""

    def __init__(self) -> None:
        self.there: dict[str, Picture | Exception] = {}
        self.asked: list[str] = []

    async def fetch(self, url: str, *, limit: int) -> Picture:
        self.asked.append(url)
        found = self.there.get(url, Permanent(f"there is no picture at {url}"))
        if isinstance(found, Exception):
            raise found
        return found


class ScriptedPages:
    """As ScriptedPictures, for pages."""

    def __init__(self) -> None:
        self.there: dict[str, Page | Exception] = {}
        self.asked: list[str] = []

    async def read(self, url: str, *, limit: int) -> Page:
        self.asked.append(url)
        found = self.there.get(url, Permanent(f"there is no page at {url}"))
        if isinstance(found, Exception):
            raise found
        return found


class ScriptedModel:
    """Replies in this order, then with `last`, or as `answer` says; exceptions are raised. `prompts` is what it got."""

    def __init__(
        self,
        *replies: ModelReply | str | Exception,
        last: ModelReply | str = "done",
        answer: Callable[[Prompt], Awaitable[ModelReply | str | Exception]] | None = None,
    ) -> None:
        self._replies = list(replies)
        self._last, self._answer = last, answer
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt) -> ModelReply:
        self.prompts.append(prompt)
        reply = await self._next(prompt)
        if isinstance(reply, Exception):
            raise reply
        return ModelReply(text=reply) if isinstance(reply, str) else reply

    async def _next(self, prompt: Prompt) -> ModelReply | str | Exception:
        if self._answer is not None:
            return await self._answer(prompt)
        return self._replies.pop(0) if self._replies else self._last


class ScriptedTools:
    """`answer` may raise NotBegun or ToolFailed; `calls` holds every use that came, `missing` says why tools are."""

    def __init__(
        self, tools: Sequence[Tool] = (), *, answer: Callable[[ToolUse], Awaitable[str]] | None = None
    ) -> None:
        self._tools, self._answer = tools, answer
        self.calls: list[ToolUse] = []
        self.missing: list[str] = []

    def with_own(self, own: OwnMeans) -> "ScriptedTools":
        return self

    async def list(self, robot: Robot) -> Sequence[Tool]:
        allowed = robot.allowed_servers()
        mine = [tool for tool in self._tools if tool.server in allowed]
        mine = [tool for tool in mine if not allowed[tool.server] or tool.tool in allowed[tool.server]]
        return sorted(mine, key=lambda tool: tool.name)

    def problems(self, robot: Robot) -> Sequence[str]:
        return self.missing

    async def call(
        self,
        use: ToolUse,
        *,
        team: str,
        robot: Robot | None = None,
        role: Role = Role.OWNER,
        timeout: float | None = None,
    ) -> str:
        self.calls.append(use)
        return await self._answer(use) if self._answer else f"{use.tool} answered"


class ScriptedProcesses:
    """As ScriptedTools, for processes; `calls` holds (name, call)."""

    def __init__(self, *, answer: Callable[[str, ProcessCall], Awaitable[str | None]] | None = None) -> None:
        self._answer = answer
        self.calls: list[tuple[str, ProcessCall]] = []

    async def call(self, name: str, call: ProcessCall, *, timeout: float) -> str | None:
        self.calls.append((name, call))
        return await self._answer(name, call) if self._answer else f"{name} answered"
