"""Hooks: programs that are asked before a model or a tool is called, and shown a tool's result.

A team's hook is a process: the `HookCall` is the only item of `args` of its `ProcessCall`, its reply is a `HookReply`.
"""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import Json, Name, Part

VERSION = 1
"""Of the contract; it changes when a hook that was written for the last one would fail."""

MOST_MESSAGES, REASON_LIMIT = 2000, 1000
"""Messages of a reply, and characters of its reason."""


class HookPoint(StrEnum):
    """The points of a run at which hooks are called."""

    BEFORE_LLM_CALL = "before_llm_call"
    BEFORE_TOOL_CALL = "before_tool_call"
    AFTER_TOOL_CALL = "after_tool_call"


class OnFailure(StrEnum):
    """What happens when a hook fails, is too slow, or replies what can't be used."""

    CANCEL = "cancel"
    CONTINUE = "continue"


class HookAction(StrEnum):
    CONTINUE = "continue"
    CANCEL = "cancel"


class ShownCall(Part):
    """A call of a tool within a message."""

    id: str = ""
    name: str = ""
    arguments: dict[str, Json] = {}


class HookMessage(Part):
    """A message of a prompt. `id`: of one that the hook was shown, which keeps all but the `text` that it comes back
    with; null leaves the text too. Without an id it is a new message: a role and a text. `other`: the kinds of its
    parts that are no text, such as pictures, which a hook isn't shown."""

    id: str = Field(default="", max_length=100)
    role: Literal["system", "user", "assistant", "tool"] = "user"
    text: str | None = None
    calls: list[ShownCall] = []
    call_id: str = ""
    other: list[str] = []


class HookTool(Part):
    """A call of a tool or a process. What stands from `output` on is known after the call alone."""

    step_id: str = Field(description="the idempotency key of the call")
    name: str = Field(description="the name that the model uses; of a process, its own name")
    server: str | None = Field(default=None, description="the MCP server; null = a process")
    tool: str = ""
    arguments: Json = Field(default={}, description="an object; of a process, a list")
    output: str | None = Field(default=None, description="the beginning of the result")
    output_bytes: int = Field(default=0, description="of the whole result")
    error: str | None = None
    seconds: float = 0.0


class HookCall(Part):
    """The question to a hook. `messages` and `model` (a connector's id) stand in calls before a model's, `tool` in the
    others. `step_id` is the same whenever this call is repeated."""

    contract: int = VERSION
    point: HookPoint
    step_id: str
    team_id: Name
    member_id: Name
    execution_id: str
    executor_mode: ExecutorMode = ExecutorMode.STANDARD
    phase: str
    task_id: str = Field(default="", description="empty outside of tasks")
    agent: str = Field(default="", description="the agent that calls; empty for a task that is a single call")
    model: str = ""
    messages: list[HookMessage] = []
    tool: HookTool | None = None


class HookReply(Part):
    """A hook's answer; that of a hook after a call is ignored. What is null stays as it is."""

    action: HookAction = HookAction.CONTINUE
    reason: str = Field(default="", max_length=REASON_LIMIT, description="why it cancels; the run shows it")
    messages: list[HookMessage] | None = Field(
        default=None, max_length=MOST_MESSAGES, description="before a model's call: all messages, in their order"
    )
    model: str | None = Field(default=None, max_length=200, description="before a model's call: a connector's id")
    name: str | None = Field(default=None, max_length=200, description="before a tool's call: another tool")
    arguments: Json = Field(default=None, description="before a tool's call: other arguments")
