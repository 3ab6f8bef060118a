"""Calls of agents by request and reply: the executor owns their keys, costs and limits."""

from typing import Literal, Self

from pydantic import Field, model_validator

from rota_contracts.messages.conversation import ToolStatus
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Instant, Json, Name, Part, Payload
from rota_contracts.robots.autonomy import Autonomy

DEFAULT_TIMEOUT_S = 600
LONGEST_S = 3600
CALLS_LISTED = 1000
CALLERS = 3
"""Agents that may have led to a call, one by the other."""


Service = Literal["search", "vision", "audio", "fetch", "web", "keyword", "querydsl", "rerank"]
"""What others do for an agent (`uses`)."""


class CallAgent(Part):
    """Request to the executor: call an agent. A repeated `call_id` returns the stored reply, without a second call."""

    call_id: str
    team_id: Name
    member_id: Name
    assistant_id: str = Field(min_length=1)
    messages: list[Message] = Field(min_length=1)
    execution_id: str | None = None
    model: str | None = Field(default=None, description="a connector's id, instead of the agent's own")
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=LONGEST_S, description="seconds")
    uses: dict[Service, str] = Field(default={}, description="who does what for the agent, before what its file says")
    metadata: dict[str, Json] = {}
    locale: str | None = None
    route: str | None = Field(default=None, description="where the caller is: a page or a path of its own")
    chat_id: str | None = Field(default=None, description="the conversation that it belongs to")
    user_id: Name | None = Field(default=None, description="the person who calls, if the caller is known as one")
    streamed: bool = Field(default=False, description="pieces of the answer are published while it is written")
    form: dict[str, Json] | None = Field(default=None, description="the answer's, as a JSON Schema, if it has one")
    callers: list[str] = Field(
        default=[], max_length=CALLERS, description="the agents that led to this call, by hooks or by `uses`"
    )
    autonomy: Autonomy | None = Field(default=None, description="the strictest of theirs; null adds nothing")


class Completion(Part):
    """A model's answer, before a hook: `response` is the JSON in its text."""

    content: str = ""
    response: Json = None


class AfterHook(Part):
    """What an agent's hook `next` made of its answer. `completion`: the model's own; `next`: the hook's `data`;
    `notes`: on hooks that failed and were passed over."""

    completion: Completion = Completion()
    next: Json = None
    notes: list[str] = []


class CalledTool(Part):
    """A call of a tool that an agent made before it answered."""

    name: str = Field(description="as the model knows it")
    status: ToolStatus


class AgentReply(Part):
    """The agent's reply. `response` is the JSON found in `content`, if any; `error` is empty on success. `hooked`: of
    an agent with a hook `next`."""

    agent_id: str
    content: str = ""
    response: Json = None
    error: str = ""
    model: str = ""
    call: ModelCall | None = Field(default=None, description="what the model's call took; with tools, the last one")
    tools: list[CalledTool] = Field(default=[], description="the calls of tools before the answer, in their order")
    rehearsed: bool = Field(default=False, description="a canned answer: no model was asked")
    hooked: AfterHook | None = None

    def whole_response(self) -> Json:
        """The response for callers outside: with what hooks made of it, if there is one to do so."""
        return self.response if self.hooked is None else self.hooked.model_dump(mode="json")


class CallUnderWay(Part):
    """A call of an agent whose answer isn't there yet. `member_id`: the robot in whose name it was made, if any."""

    id: str
    agent_id: str
    member_id: str | None = None
    chat_id: str = ""
    began_at: Instant
    status: Literal["running"] = "running"


class ListCalls(Part):
    """The team's calls of agents under way, of all chats or of this one."""

    team_id: Name
    chat_id: str | None = None


class CallList(Part):
    """The newest first, at most CALLS_LISTED."""

    calls: list[CallUnderWay] = []


class AbortCalls(Part):
    """Abort calls of the team that are under way: this one, or all of this chat. Their callers get an error."""

    team_id: Name
    call_id: str | None = None
    chat_id: str | None = None

    @model_validator(mode="after")
    def _names_one(self) -> Self:
        if (self.call_id is None) == (self.chat_id is None):
            raise ValueError("expected either call_id or chat_id")
        return self


class AbortedCalls(Part):
    """The ids of those that were still under way, at most CALLS_LISTED."""

    aborted: list[str] = []


class AnswerPieceV1(Payload):
    """Published while the answer of a streamed call is written. `piece` 0: the pieces so far don't count."""

    call_id: str
    piece: int = Field(ge=0)
    text: str = Field(default="", max_length=2000)
