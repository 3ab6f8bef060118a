"""A robot's hooks in a call of an agent in its name: at the points at which its runs have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from executor.agents.team_view import TeamView
from executor.call_port import Calls
from executor.domain.hooks.messages import restored
from executor.domain.hooks.questions import asking, of_call, using
from executor.hook_port import Hook
from executor.steps.hook_chain import HookChain
from executor.steps.hooked_prompts import unusable
from executor.steps.models import Models
from executor.steps.notify_hooks import NotifyHooks
from rota_common.errors import Permanent
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.hook import HookCall, HookMessage, HookPoint
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.model import Part
from rota_contracts.robots.robot import Robot

BEFORE_MODEL, BEFORE_TOOL, AFTER_TOOL = (
    HookPoint.BEFORE_LLM_CALL,
    HookPoint.BEFORE_TOOL_CALL,
    HookPoint.AFTER_TOOL_CALL,
)


class Left(Part):
    """What hooks left of a model's call: null and empty is as it was."""

    messages: list[HookMessage] | None = None
    model: str = ""
    cancelled: str = ""


@dataclass(frozen=True, kw_only=True)
class HooksOfRobots:
    chain: HookChain
    notify: NotifyHooks
    calls: Calls
    models: Models


@dataclass(frozen=True, kw_only=True)
class RobotHooks:
    """Those of the robot in whose name `request` is made, for the agent that it asks. What they leave of a model's call
    is kept with the call before it has effect, so a replica that goes on doesn't ask them again."""

    means: HooksOfRobots
    request: CallAgent
    agent_id: str
    robot: Robot
    mode: ExecutorMode
    view: TeamView

    def at(self, point: HookPoint) -> Sequence[Hook]:
        return self.means.chain.of(self.robot, self.mode, point)

    async def left(self, messages: Sequence[Message], *, connector: str, step_id: str, name: str) -> Left:
        """Of the call of a model with these messages; `name`: its place in this call. Raises Permanent if a hook
        cancels it."""
        if not (hooks := self.at(BEFORE_MODEL)):
            return Left()
        means, call_id = self.means, self.request.call_id
        kept = await means.calls.kept(call_id, name)
        if kept is None:
            call = asking(self._about(BEFORE_MODEL, step_id), messages, connector=connector)
            check = partial(unusable, means.models, self.mode, connector=connector, view=self.view)
            done = await means.chain.ask(hooks, call, check)
            left = Left(
                messages=done.call.messages if done.call.messages != call.messages else None,
                model=done.call.model if done.call.model != connector else "",
                cancelled=done.cancelled,
            )
            kept = await means.calls.keep(call_id, name, left.model_dump_json(), team=self.request.team_id)
        left = Left.model_validate_json(kept)
        if left.cancelled:
            raise Permanent(left.cancelled)
        return left

    def about(self, use: ToolUse) -> HookCall:
        """The question before this call of a tool."""
        return using(self._about(BEFORE_TOOL, use.step_id), use)

    def show(self, use: ToolUse, output: Text | None, error: str | None, *, seconds: float) -> None:
        """Begin to show the result of a call; the agent doesn't wait for it."""
        call = using(self._about(AFTER_TOOL, use.step_id), use)
        self.means.notify(self.at(AFTER_TOOL), call, output, error=error, seconds=seconds)

    def _about(self, point: HookPoint, step_id: str) -> HookCall:
        return of_call(self.request, self.agent_id, self.mode, point, step_id)


def with_left(messages: Sequence[Message], left: Left) -> Sequence[Message]:
    return messages if left.messages is None else restored(messages, left.messages)
