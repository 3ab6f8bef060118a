"""The calls of a turn: single calls of tools and processes, and interrupted ones."""

from collections.abc import Collection

from executor.domain.conversation.loop import OPEN
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import ExecutorType, Task
from rota_contracts.robots.robot import Robot


def single_call(task: Task, robot: Robot, step_id: str) -> ToolUse:
    """The one call of a task of type mcp or process."""
    key = derived_id("tool", step_id, 0)
    if task.executor_type is ExecutorType.PROCESS:
        process = robot.process(task.executor_id)
        idempotent = process is not None and process.idempotent
        return ToolUse(step_id=key, name=task.executor_id, arguments=task.args, idempotent=idempotent)
    arguments = task.args[0] if task.args and isinstance(task.args[0], dict) else {}
    return ToolUse(
        step_id=key,
        name=task.executor_id,
        server=task.mcp_server,
        tool=task.mcp_tool or "",
        arguments=arguments,
        idempotent=task.idempotent,
    )


def interrupted_calls(turn: Turn, *, already_done: Collection[str]) -> tuple[list[str], list[str]]:
    """Step ids of the calls that were started and not finished: the idempotent ones, and the others."""
    uses = turn.rounds[-1].uses if turn.rounds else []
    begun = [use for use in uses if use.status is ToolStatus.STARTED and use.step_id not in already_done]
    return [u.step_id for u in begun if u.idempotent], [u.step_id for u in begun if not u.idempotent]


def started_calls(turn: Turn | None) -> set[str]:
    """Step ids of the calls that are being made."""
    uses = turn.rounds[-1].uses if turn is not None and turn.rounds else []
    return {use.step_id for use in uses if use.status is ToolStatus.STARTED}


def open_uses(turn: Turn) -> list[ToolUse]:
    """The calls that have no outcome yet."""
    return [use for use in turn.rounds[-1].uses if use.status in OPEN] if turn.rounds else []
