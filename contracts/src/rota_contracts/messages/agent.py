"""Calls of agents by request and reply: the executor owns their keys, costs and limits."""

from pydantic import Field

from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Json, Name, Part, Payload

DEFAULT_TIMEOUT_S = 600
LONGEST_S = 3600


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
    metadata: dict[str, Json] = {}
    locale: str | None = None
    route: str | None = Field(default=None, description="where the caller is: a page or a path of its own")
    chat_id: str | None = Field(default=None, description="the conversation that it belongs to")
    streamed: bool = Field(default=False, description="pieces of the answer are published while it is written")
    form: dict[str, Json] | None = Field(default=None, description="the answer's, as a JSON Schema, if it has one")


class AgentReply(Part):
    """The agent's reply. `response` is the JSON found in `content`, if any; `error` is empty on success."""

    agent_id: str
    content: str = ""
    response: Json = None
    error: str = ""
    model: str = ""
    call: ModelCall | None = Field(default=None, description="what the model's call took")
    rehearsed: bool = Field(default=False, description="a canned answer: no model was asked")


class AnswerPieceV1(Payload):
    """Published while the answer of a streamed call is written. `piece` 0: the pieces so far don't count."""

    call_id: str
    piece: int = Field(ge=0)
    text: str = Field(default="", max_length=2000)
