"""Hooks of a robot: processes of its team that are called around its calls of models and tools."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from rota_contracts.messages.hook import HookPoint, OnFailure
from rota_contracts.model import Part
from rota_contracts.robots.clock_config import Duration, duration
from rota_contracts.robots.preferences import ProcessName

MAX_HOOKS = 8
"""Hooks at one point."""

MAX_TIMEOUT_S = 60.0


def _short(text: str) -> str:
    if not 0 < duration(text).total_seconds() <= MAX_TIMEOUT_S:
        raise ValueError(
            f"expected a time limit from 1s to {MAX_TIMEOUT_S:g}s, not {text!r}: a call waits for its hooks"
        )
    return text


class HookProcess(Part):
    """A process that is called at a point. `on_failure` null: cancel before a call, continue after it."""

    process: ProcessName = Field(description="the team's process that is called")
    timeout: Annotated[Duration, AfterValidator(_short)] = Field(default="5s", description="at most 60s")
    on_failure: OnFailure | None = Field(default=None, description="what happens if it fails or is too slow")


HookList = Annotated[list[HookProcess], Field(max_length=MAX_HOOKS)]


class Hooks(Part):
    """The processes of each point, in their order; those before a call each see what the one before has changed."""

    before_llm_call: HookList = Field(default=[], description="may change or cancel a call of a model")
    before_tool_call: HookList = Field(default=[], description="may change or cancel a call of a tool or process")
    after_tool_call: HookList = Field(default=[], description="sees what the call has answered")

    @model_validator(mode="after")
    def _nothing_is_left_to_cancel(self) -> Self:
        if any(hook.on_failure is OnFailure.CANCEL for hook in self.after_tool_call):
            raise ValueError("after_tool_call: expected on_failure: continue, or none: the call has been made by then")
        return self

    def at(self, point: HookPoint) -> list[HookProcess]:
        """The processes of this point."""
        match point:
            case HookPoint.BEFORE_LLM_CALL:
                return self.before_llm_call
            case HookPoint.BEFORE_TOOL_CALL:
                return self.before_tool_call
            case HookPoint.AFTER_TOOL_CALL:
                return self.after_tool_call
