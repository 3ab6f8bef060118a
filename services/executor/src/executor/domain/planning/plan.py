"""The plan: tasks from the planner's answer, repaired against the robot's resources."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from executor.domain.conversation.chat import Tool
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.repair import fitting_means
from executor.domain.planning.resources import Resources, resources
from executor.domain.planning.rules import checkable
from rota_common.json_text import extract_json
from rota_contracts.messages.execution import Task, TaskSource
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Robot

MAX_TASKS = 100
SHAPE = '{"tasks": [{"id": "task-1", "description": "…", "executor_type": "assistant", "executor_id": "…"}]}'
SOURCES = {TriggerType.HUMAN: TaskSource.HUMAN, TriggerType.EVENT: TaskSource.EVENT}


def plan(
    text: str,
    *,
    robot: Robot,
    trigger: TriggerType,
    tools: Sequence[Tool] = (),
    known: Sequence[Task] = (),
    again: bool = False,
) -> tuple[list[Task], list[str]] | str:
    """The tasks, in order, and notes on repairs; or, as a text, why there is nothing to do.

    `known`: tasks of an earlier plan that stay; the new ones come after them. `again`: the planner has had a
    reason already, so that an unknown executor and wrong arguments are mended. Raises UnusableAnswer.
    """
    found = extract_json(text)
    if reason := nothing_to_do(found):
        return reason
    has, notes = resources(robot, tools), list[str]()
    tasks: list[Task] = []
    source = SOURCES.get(trigger, TaskSource.AUTO)
    for raw in _raw_tasks(found):
        task, mended = _task({"source": source} | raw, has, [*known, *tasks], again=again)
        tasks.append(task)
        notes += mended
    return tasks, notes


def nothing_to_do(found: Any) -> str:
    """The reason, if that is the answer: `{"nothing_to_do": why}`, or an empty plan with a `reason`."""
    if not isinstance(found, dict):
        return ""
    reason = found.get("nothing_to_do")
    if reason:
        return reason if isinstance(reason, str) else str(found.get("reason") or "nothing is worth doing now")
    return str(found["reason"]) if found.get("tasks") == [] and found.get("reason") else ""


def mended_task(
    raw: dict[str, Any], *, robot: Robot, known: Sequence[Task], order: int | None = None
) -> tuple[Task, list[str]]:
    """One task that a person asks for, repaired likewise. Raises UnusableAnswer."""
    if len(known) >= MAX_TASKS:
        raise UnusableAnswer(f"a plan holds at most {MAX_TASKS} tasks")
    task, notes = _task(raw, resources(robot, None), known)
    return (task if order is None else task.model_copy(update={"order": order})), notes


def _raw_tasks(found: Any) -> list[dict[str, Any]]:
    if isinstance(found, dict):
        found = found.get("tasks", [found] if "executor_id" in found or "description" in found else None)
    if not isinstance(found, list) or not all(isinstance(raw, dict) for raw in found):
        raise UnusableAnswer(f"expected a plan as JSON like {SHAPE}, got something else")
    if not found:
        raise UnusableAnswer(f'expected at least one task, like {SHAPE}, or a "reason" beside an empty list')
    if len(found) > MAX_TASKS:
        raise UnusableAnswer(f"expected at most {MAX_TASKS} tasks, got {len(found)}")
    numbered = all(isinstance(raw.get("order"), int) for raw in found)
    return sorted(found, key=lambda raw: int(raw["order"])) if numbered else found


def _task(raw: dict[str, Any], has: Resources, known: Sequence[Task], *, again: bool = False) -> tuple[Task, list[str]]:
    given = {key: value for key, value in raw.items() if value is not None}
    order = max((task.order for task in known), default=0) + 1
    wanted = str(given.get("id") or f"task-{order}")
    name = _free(wanted, {task.id for task in known})
    notes = [] if name == wanted else [f"plan: a second task called {wanted} is now {name}"]
    means, args, why = fitting_means(given, has, task_id=name, again=again)
    rules, dropped = checkable(given.get("validation_rules"), checkers=has.checkers, task_id=name)
    asked = " ".join(str(given[key]) for key in ("executor_type", "executor_id") if given.get(key))
    if asked != f"{means.type} {means.id}" and asked != means.id:
        notes.append(f"plan: task {name} asked for {asked or 'no executor'}, given to {means.type} {means.id}{why}")
    mended = given | {
        "id": name,
        "order": order,
        "executor_type": means.type,
        "executor_id": means.id,
        "mcp_server": means.server,
        "mcp_tool": means.tool,
        "idempotent": means.idempotent,
        "args": args,
        "validation_rules": rules,
    }
    try:
        task = Task.model_validate(mended)
    except ValidationError as error:
        reasons = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UnusableAnswer(f"task {name} of the plan can't be read: {reasons}") from error
    return task, [*notes, *dropped]


def _free(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, 2 * MAX_TASKS + 2) if (name := f"{wanted}-{n}") not in taken)
