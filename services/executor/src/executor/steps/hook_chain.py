"""The chain of hooks at a point: those of the platform first, then the processes of the robot's team."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from executor.domain.hooks.messages import UnusableReply
from executor.domain.hooks.replies import changed
from executor.domain.run import Run
from executor.hook_port import Hook, HookFailed
from executor.steps.process_hook import ProcessHook
from executor.tool_ports import Processes
from rota_common.runtime.logs import logger
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.hook import HookAction, HookCall, HookPoint, HookReply, OnFailure
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot

REASON = 500
"""Characters of a reason that a run keeps."""

Check = Callable[[HookCall], str]
"""Why a call, as a hook has changed it, isn't allowed; else empty."""

_log = logger(service="executor")


@dataclass(frozen=True)
class Chained:
    """A call after its hooks. `cancelled`: why it isn't made. `by`: the hooks that changed or cancelled it; `notes`: on
    those that failed and were passed over."""

    call: HookCall
    cancelled: str = ""
    by: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class HookChain:
    """`platform`: in the operator's order."""

    platform: Sequence[Hook]
    processes: Processes

    def hooks(self, run: Run, point: HookPoint) -> Sequence[Hook]:
        """The hooks of a run at this point."""
        return self.of(run.robot, run.execution.executor_mode, point)

    def of(self, robot: Robot, mode: ExecutorMode, point: HookPoint) -> Sequence[Hook]:
        """The hooks of a robot at this point. What isn't in standard mode reaches no process."""
        named = robot.robot_config.hooks.at(point)
        if not named and not self.platform:
            return ()
        platform = [hook for hook in self.platform if point in hook.points]
        if mode is not ExecutorMode.STANDARD:
            return platform
        return [*platform, *(ProcessHook(self.processes, each, point=point) for each in named)]

    @staticmethod
    async def ask(hooks: Sequence[Hook], call: HookCall, check: Check) -> Chained:
        """Ask one after the other; each sees what those before it have changed."""
        by, notes = list[str](), list[str]()
        for hook in hooks:
            try:
                reply, after = await _asked(hook, call, check)
            except HookFailed as error:
                _log.warning("a hook failed", hook=hook.name, execution_id=call.execution_id, reason=str(error))
                if hook.on_failure is not OnFailure.CONTINUE:
                    return Chained(call, f"hook {hook.name} failed: {excerpt(str(error), REASON)}", [*by, hook.name])
                notes.append(f"hook {hook.name} failed {call.point}: it was passed over")
                continue
            if reply.action is HookAction.CANCEL:
                reason = excerpt(reply.reason, REASON) or "no reason given"
                return Chained(call, f"hook {hook.name} cancelled it: {reason}", [*by, hook.name], notes)
            if after is not call:
                by.append(hook.name)
            call = after
        return Chained(call, "", by, notes)


async def _asked(hook: Hook, call: HookCall, check: Check) -> tuple[HookReply, HookCall]:
    reply = await reply_of(hook, call)
    if reply.action is HookAction.CANCEL:
        return reply, call
    try:
        after = changed(call, reply)
    except UnusableReply as error:
        raise HookFailed(str(error)) from error
    if after is not call and (problem := check(after)):
        raise HookFailed(problem)
    return reply, after


async def reply_of(hook: Hook, call: HookCall) -> HookReply:
    """The hook's reply within its time. Raises HookFailed, whatever it was that failed."""
    try:
        async with asyncio.timeout(hook.timeout):
            return await hook.ask(call)
    except HookFailed:
        raise
    except TimeoutError as error:
        raise HookFailed(f"no reply within {hook.timeout:g} s") from error
    except Exception as error:  # a hook is code of others: whatever it is, it is the hook's failure
        raise HookFailed(f"{type(error).__name__}: {error}") from error
