"""The facts of a prompt as data, for the rehearsal model, which doesn't read prose."""

from collections.abc import Sequence
from typing import Any

from executor.domain.conversation.chat import Tool
from executor.domain.planning.resources import assistants
from executor.domain.run import Run
from executor.domain.situation.wording import about
from rota_contracts.messages.execution import Task
from rota_contracts.robots.robot import Phase


def facts(run: Run, kind: str, *, task: Task | None = None, tools: Sequence[Tool] = ()) -> dict[str, Any]:
    """`kind`: the phase, or `run` with the task that is done, or `validation`."""
    execution = run.execution
    states = {result.task_id: str(result.status) for result in execution.results}
    found: dict[str, Any] = {
        "kind": kind,
        "role": run.robot.robot_config.identity.role,
        "about": about(execution.trigger),
        "data": execution.trigger.input.data,
        "execution_id": run.id,
        "agents": assistants(run.robot),
        "tools": [{"server": tool.server, "tool": tool.tool, "name": tool.name} for tool in tools],
        "processes": [process.name for process in run.robot.robot_config.resources.processes],
        "dryrun": execution.executor_mode != "standard",
        "lessons": [lesson.content for lesson in execution.recalled],
        "goals": execution.goals.content if execution.goals else "",
        "tasks": [
            {
                "description": each.description,
                "status": states.get(each.id, ""),
            }
            for each in execution.tasks or []
        ],
        "failed": execution.error,
    }
    if run.surroundings is not None:
        found["pending"] = run.surroundings.pending
    if kind == Phase.DELIVERY and (schema := run.robot.robot_config.delivery.result_schema) is not None:
        found["schema"] = schema
    if task is not None:
        found |= {"agent": task.executor_id, "task": task.description}
    return found
