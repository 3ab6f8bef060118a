"""The questions to hooks: the call that is about to be made, or was, and whose it is."""

from collections.abc import Sequence

from executor.domain.hooks.messages import shown
from executor.domain.run import Run
from executor.domain.steps import AskAgent, BeginCalls, MakeCalls, RunTurn, subject_of
from rota_contracts.messages.agent import CallAgent
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecutorType, Task
from rota_contracts.messages.hook import HookCall, HookPoint, HookTool
from rota_contracts.messages.trigger import ExecutorMode, Message
from rota_contracts.robots.robot import Phase


def before_model(run: Run, step: AskAgent | RunTurn, messages: Sequence[Message], *, connector: str) -> HookCall:
    return asking(_call(run, step, HookPoint.BEFORE_LLM_CALL, step.step_id), messages, connector=connector)


def about_tool(run: Run, step: BeginCalls | MakeCalls, point: HookPoint, use: ToolUse) -> HookCall:
    return using(_call(run, step, point, use.step_id), use)


def of_call(request: CallAgent, agent_id: str, mode: ExecutorMode, point: HookPoint, step_id: str) -> HookCall:
    """Of an agent's call without a run: it has no execution, phase or task."""
    return HookCall(
        point=point,
        step_id=step_id,
        team_id=request.team_id,
        member_id=request.member_id,
        execution_id="",
        executor_mode=mode,
        phase="",
        agent=agent_id,
    )


def asking(call: HookCall, messages: Sequence[Message], *, connector: str) -> HookCall:
    """The question before a model is asked with these messages."""
    return call.model_copy(update={"model": connector, "messages": shown(messages)})


def using(call: HookCall, use: ToolUse) -> HookCall:
    """The question about this call of a tool."""
    tool = HookTool(step_id=use.step_id, name=use.name, server=use.server, tool=use.tool, arguments=use.arguments)
    return call.model_copy(update={"tool": tool})


def _call(run: Run, step: AskAgent | RunTurn | BeginCalls | MakeCalls, point: HookPoint, step_id: str) -> HookCall:
    of = subject_of(step)
    phase, task = (Phase.RUN, of) if isinstance(of, Task) else (of, None)
    return HookCall(
        point=point,
        step_id=step_id,
        team_id=run.execution.team_id,
        member_id=run.execution.member_id,
        execution_id=run.id,
        executor_mode=run.execution.executor_mode,
        phase=phase,
        task_id=task.id if task else "",
        agent=_assistant(task) if task else run.robot.phase_agent(phase),
    )


def _assistant(task: Task) -> str:
    return task.executor_id if task.executor_type is ExecutorType.ASSISTANT else ""
