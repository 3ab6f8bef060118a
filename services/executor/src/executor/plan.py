"""P2: from the planner's answer to tasks that can run, mended against what the robot really has."""

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from executor.parsing import UnusableAnswer
from rota_common.json_text import extract_json
from rota_contracts.execution import ExecutorType, Task, TaskSource
from rota_contracts.robot import Robot
from rota_contracts.trigger import TriggerType

MAX_TASKS = 50
SHAPE = '{"tasks": [{"id": "task-1", "description": "…", "executor_type": "assistant", "executor_id": "…"}]}'
SOURCES = {TriggerType.HUMAN: TaskSource.HUMAN, TriggerType.EVENT: TaskSource.EVENT}


def plan(text: str, *, robot: Robot, trigger: TriggerType) -> tuple[list[Task], list[str]]:
    """The tasks, in order, and what was mended.

    Raises UnusableAnswer with what was expected when the plan has no tasks, names an executor that the robot doesn't
    have, or is of a type that can't run here.
    """
    raw_tasks = _raw_tasks(extract_json(text))
    notes: list[str] = []
    tasks: list[Task] = []
    for index, raw in enumerate(raw_tasks, start=1):
        given = {key: value for key, value in raw.items() if value is not None}
        mended = _mend(given, index, taken={task.id for task in tasks}, robot=robot, notes=notes)
        mended.setdefault("source", SOURCES.get(trigger, TaskSource.AUTO))
        try:
            tasks.append(Task.model_validate(mended))
        except ValidationError as error:
            reasons = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise UnusableAnswer(f"task {index} of the plan can't be read: {reasons}") from error
    return tasks, notes


def _raw_tasks(found: Any) -> list[dict[str, Any]]:
    if isinstance(found, dict):
        found = found.get("tasks", [found] if "executor_id" in found or "description" in found else None)
    if not isinstance(found, list) or not all(isinstance(raw, dict) for raw in found):
        raise UnusableAnswer(f"expected a plan as JSON like {SHAPE}, got something else")
    if not found:
        raise UnusableAnswer(f"expected at least one task, like {SHAPE}, got an empty plan")
    if len(found) > MAX_TASKS:
        raise UnusableAnswer(f"expected at most {MAX_TASKS} tasks, got {len(found)}")
    numbered = all(isinstance(raw.get("order"), int) for raw in found)
    return sorted(found, key=lambda raw: int(raw["order"])) if numbered else found


def _mend(raw: dict[str, Any], index: int, *, taken: set[str], robot: Robot, notes: list[str]) -> dict[str, Any]:
    wanted = str(raw.get("id") or f"task-{index}")
    raw["id"] = _free(wanted, taken)
    if raw["id"] != wanted:
        notes.append(f"plan: a second task called {wanted} is now {raw['id']}")
    raw["order"] = index
    kind = raw.setdefault("executor_type", ExecutorType.ASSISTANT)
    if kind != ExecutorType.ASSISTANT:
        raise UnusableAnswer(
            f"task {raw['id']} is of type {kind!r}: this version runs tasks of type assistant only; "
            f"use one of {_names(allowed(robot))}"
        )
    asked = str(raw.get("executor_id") or "")
    raw["executor_id"] = _executor(asked, allowed(robot), raw["id"])
    if asked != raw["executor_id"]:
        notes.append(f"plan: task {raw['id']} asked for {asked or 'nobody'}, given to {raw['executor_id']}")
    return raw


def allowed(robot: Robot) -> list[str]:
    """The assistants this robot may use (EX-26); one without any does its tasks itself."""
    return sorted(robot.allowed_agents()) or [robot.phase_agent("run")]


def _executor(asked: str, names: list[str], task_id: str) -> str:
    """The robot's assistant that was meant: by name, by the only name it is part of, or the only one there is."""
    if asked in names:
        return asked
    folded = asked.casefold().replace("_", "-").replace(" ", "-")
    similar = [name for name in names if folded and (folded in name.casefold() or name.casefold() in folded)]
    if len(similar) == 1:
        return similar[0]
    if len(names) == 1:
        return names[0]
    raise UnusableAnswer(f"task {task_id} names executor_id {asked!r}: expected one of {_names(names)}")


def _free(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for n in range(2, MAX_TASKS + 2) if (name := f"{wanted}-{n}") not in taken)


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
