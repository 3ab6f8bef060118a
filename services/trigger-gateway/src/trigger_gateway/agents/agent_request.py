"""The request for a call of an agent, and its answer, over HTTP and over NATS."""

from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.messages.agent import DEFAULT_TIMEOUT_S, LONGEST_S, AfterHook, AgentReply, CallAgent, Service
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json, Name
from trigger_gateway.agents.call_team_agent import AgentCall
from trigger_gateway.strict import Strict


class Skip(Strict):
    """What a call leaves out. A call shows nothing to others and keeps no conversation, whatever is asked for."""

    output: bool = Field(default=True, description="always skipped")
    history: bool = Field(default=True, description="always skipped")
    trace: bool = Field(default=False, description="a call has no trail of its own: nothing changes")


class PlainAgentRequest(Strict):
    """A call of an agent, which may use its tools."""

    messages: list[Message] = Field(min_length=1, max_length=1000)
    member_id: Name | None = Field(default=None, description="the robot in whose name it is called")
    model: str | None = Field(default=None, max_length=200, description="a connector, in place of the agent's own")
    timeout: float = Field(default=DEFAULT_TIMEOUT_S, gt=0, le=LONGEST_S, description="seconds")
    uses: dict[Service, Annotated[str, StringConstraints(max_length=200)]] = Field(
        default={}, description="who does what for the agent, before what its file says"
    )
    skip: Skip = Skip()
    metadata: dict[str, Json] = {}
    locale: str | None = Field(default=None, max_length=35)
    route: str | None = Field(default=None, max_length=2000)
    chat_id: str | None = Field(default=None, max_length=200)
    request_id: str | None = Field(default=None, max_length=255, description="the idempotency key")

    def call(self, agent: str, key: str | None) -> AgentCall:
        """`key`: the idempotency key."""
        return AgentCall(
            agent=agent,
            messages=self.messages,
            member=self.member_id,
            model=self.model,
            timeout=self.timeout,
            uses=self.uses,
            metadata=self.metadata,
            locale=self.locale,
            route=self.route,
            chat_id=self.chat_id,
            key=key,
        )


class AgentAnswer(AgentReply):
    """`error` says what the agent or its model got wrong; it is empty on success. `response`: the JSON in the answer;
    of an agent with a hook `next`, `{completion: {content, response}, next, notes}`."""

    hooked: AfterHook | None = Field(default=None, exclude=True)

    call_id: str
    chat_id: str


def answer_of(question: CallAgent, reply: AgentReply) -> AgentAnswer:
    given = {**dict(reply), "response": reply.whole_response()}
    return AgentAnswer(**given, call_id=question.call_id, chat_id=question.chat_id or "")
