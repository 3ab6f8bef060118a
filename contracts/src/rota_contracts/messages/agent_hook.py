"""An agent's own hooks: processes that are asked before its model is asked first, and after the model's answer.

The `AgentHookCall` is the only item of `args` of the `ProcessCall`; the reply is an `AgentHookReply`.
"""

from enum import StrEnum

from pydantic import Field

from rota_contracts.messages.hook import MOST_MESSAGES, REASON_LIMIT, VERSION, HookAction, HookMessage
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Json, Name, Part


class AgentHookPoint(StrEnum):
    """`create`: before the first question to the model of a call or a turn; `next`: after the answer."""

    CREATE = "create"
    NEXT = "next"


class SkippedOutput(Part):
    """What a call leaves out. A call of an agent shows nothing to others and keeps no conversation anyway."""

    output: bool = True
    history: bool = True
    trace: bool = False


class HookedCallOptions(Part):
    """`metadata` is handed to the hooks of the agent that is called."""

    skip: SkippedOutput = SkippedOutput()
    metadata: dict[str, Json] = {}


class CallByHook(Part):
    """A call of another agent that a hook asks for."""

    agent_id: str = Field(min_length=1, max_length=200)
    messages: list[Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    options: HookedCallOptions = HookedCallOptions()


class CalledAgent(Part):
    """What came of a call. `response`: as the caller of an agent gets it; `error` is empty on success."""

    agent_id: str
    content: str = ""
    response: Json = None
    error: str = ""


class AgentHookCall(Part):
    """The question to an agent's own hook. `step_id` is the same whenever this question is repeated. `results`: of the
    calls of agents that this hook has asked for here, in their order.

    `create`: `messages` are the prompt, `options` the parameters of the model that a hook may set. `next`: the answer
    is the last of `messages`, and `content`; `response` is the JSON in it.
    """

    contract: int = VERSION
    point: AgentHookPoint
    step_id: str
    team_id: Name
    member_id: Name
    user_id: str = Field(default="", description="the person who calls, if the caller is known as one")
    agent_id: str
    execution_id: str = Field(default="", description="empty for a call without a robot's run")
    phase: str = Field(default="", description="of the run")
    task_id: str = Field(default="", description="empty outside of tasks")
    chat_id: str = ""
    callers: list[str] = Field(default=[], description="the agents whose hooks led here, the first one first")
    metadata: dict[str, Json] = {}
    locale: str = ""
    route: str = ""
    connector: str = Field(default="", description="that of the caller or the agent; empty = the default")
    options: dict[str, Json] = {}
    uses: dict[str, str] = {}
    messages: list[HookMessage] = []
    content: str = ""
    response: Json = None
    again: int = Field(default=0, description="next: how often the model has been asked again, 3 times at most")
    results: list[CalledAgent] = []


class AgentHookReply(Part):
    """The answer of an agent's own hook. What is null stays as it is. With `call`, it says nothing else: the agent is
    called, and the hook is asked again with the result."""

    action: HookAction = HookAction.CONTINUE
    reason: str = Field(
        default="", max_length=REASON_LIMIT, description="why it cancels; the caller gets it as the error"
    )
    call: CallByHook | None = None
    messages: list[HookMessage] | None = Field(
        default=None,
        max_length=MOST_MESSAGES,
        description="all messages, in their order; of `next`: the model is asked again with them",
    )
    connector: str | None = Field(default=None, max_length=200, description="create: one that the agent offers")
    options: dict[str, Json] | None = Field(default=None, description="create: parameters of the model")
    uses: dict[str, str] | None = Field(default=None, description="create: who does what, before call and agent")
    content: str | None = Field(default=None, description="next: the answer, in place of the model's")
    data: Json = Field(default=None, description="next: for the caller, who gets it as `next` in the response")
