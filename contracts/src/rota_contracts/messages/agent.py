"""Calling an agent by request and reply (EX-88 to EX-91): keys, costs and limits have one home, the executor."""

from pydantic import Field

from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json, Name, Part

DEFAULT_TIMEOUT_S = 600


class CallAgent(Part):
    """`call_id` is the caller's: asked twice, the stored answer comes back and the model isn't called again."""

    call_id: str
    team_id: Name
    member_id: Name
    assistant_id: str = Field(min_length=1)
    messages: list[Message] = Field(min_length=1)
    execution_id: str | None = None
    model: str | None = Field(default=None, description="a connector's id, in place of the agent's own")
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=3600, description="seconds")
    metadata: dict[str, Json] = {}
    locale: str | None = None


class AgentReply(Part):
    """EX-90. `response` is the JSON found in `content`, if there is any; `error` is empty on success."""

    agent_id: str
    content: str = ""
    response: Json = None
    error: str = ""
    model: str = ""
