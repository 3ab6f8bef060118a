"""Interventions: people's changes of tasks and goals of a run under way, each with its effect as a text."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from executor.domain.outcomes import Used
from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.plan import mended_task
from executor.domain.run import Run, Signal
from executor.domain.tasks import tasks, unknown_calls
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.execution import Goals, Task, TaskSource, TaskStatus
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.robots.robot import Phase

Applied = tuple[Run, str]

PLANNING = (Phase.INSPIRATION, Phase.GOALS, Phase.TASKS)
TOO_LATE = "too late: the tasks are done"
NEXT_STEP = "applies from the next step"
MEANS = {"executor_type", "executor_id", "mcp_server", "mcp_tool"}
"""Fields of a task's executor."""


def add_task(run: Run, signal: Signal, now: datetime) -> Applied:
    """A new task at the end of the plan. It is passed to the planner before there is a plan, and if it names no
    executor and several could do it."""
    if run.execution.phase in PLANNING:
        return run, "passed to the planner"
    if run.execution.phase is not Phase.RUN:
        return run, TOO_LATE
    known = run.execution.tasks or []
    raw = _fields(signal.task)
    raw.setdefault("description", signal.text())
    raw |= {"source": TaskSource.HUMAN, "messages": signal.messages}
    try:
        task, notes = mended_task(raw, robot=run.robot, known=known)
    except UnusableAnswer as error:
        named = MEANS & raw.keys()
        return (run, f"refused: {error}") if named else _planned_anew(run)
    run = run.model_copy(update={"added": [*run.added, task.id]})
    run = run.with_execution(tasks=[*known, task], notes=[*run.execution.notes, *notes])
    return run, f"task {task.id} was added"


def cancel_task(run: Run, signal: Signal, now: datetime) -> Applied:
    task, problem = _open_task(run, signal)
    if task is None:
        return run, problem
    asked = run.execution.question
    if asked is not None and asked.task_id == task.id:
        run = run.with_execution(question=None)
    run = tasks.end(run, task, TaskStatus.SKIPPED, "cancelled by a person", now=now)
    return tasks.after_task(run), f"task {task.id} was cancelled"


def update_task(run: Run, signal: Signal, now: datetime) -> Applied:
    """New fields for a task that isn't over; its executor can't change once it has begun."""
    task, problem = _open_task(run, signal)
    if task is None or signal.task is None:
        return run, problem
    changes = _fields(signal.task)
    begun = tasks.result_of(run, task.id) is not None
    fixed = {*MEANS, "args"} & changes.keys()
    if begun and fixed:
        return run, f"refused: the task has begun, {', '.join(sorted(fixed))} can't change any more"
    whole = _without_its_means(task, changes) | changes | {"messages": [*task.messages, *signal.messages]}
    others = [other for other in run.execution.tasks or [] if other.id != task.id]
    try:
        changed, _ = mended_task(whole, robot=run.robot, known=others, order=task.order)
    except UnusableAnswer as error:
        return run, f"refused: {error}"
    updated = [changed if other.id == task.id else other for other in run.execution.tasks or []]
    return run.with_execution(tasks=updated), f"task {task.id} was changed"


def _without_its_means(task: Task, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The task's fields, without those of its executor that the change replaces."""
    if {"executor_type", "executor_id"} & changes.keys():
        return task.model_dump(exclude=MEANS)
    return task.model_dump(exclude={"executor_id"} if {"mcp_server", "mcp_tool"} & changes.keys() else None)


def change_goals(run: Run, signal: Signal, now: datetime) -> Applied:
    """Goals added or adjusted: appended to the goals, and tasks that haven't begun are planned again."""
    run = _noted(run, "added" if signal.action == InterventionAction.GOAL_ADD else "adjusted", signal)
    phase = run.execution.phase
    if phase in PLANNING:
        return run, "passed to the planner"
    if phase is Phase.RUN:
        return _planned_anew(run)
    return _reopened(run, signal) if signal.merged and run.execution.error is None else (run, TOO_LATE)


def _reopened(run: Run, signal: Signal) -> Applied:
    """Another run gave its goals to this one, which was just done. Nothing of it was delivered yet: goals are given to
    runs in their tasks, and the signal is applied before the next step's request is published."""
    goals = run.execution.goals
    if goals is None or run.execution.skipped is not None:  # its own are reached, or none
        goals = Goals(content=signal.text())
    run = run.step_reset().model_copy(update={"again": run.again + 1, "goals_checked": True})
    return run.with_execution(phase=Phase.TASKS, goals=goals, content=None, skipped=None), "planned again"


def _planned_anew(run: Run) -> Applied:
    task = tasks.current(run)
    if task is not None and tasks.result_of(run, task.id) is not None:
        return run.model_copy(update={"replan": True}), "planned again after the current task"
    return run.model_copy(update={"again": run.again + 1}).with_execution(phase=Phase.TASKS), "planned again"


def end_goal(run: Run, signal: Signal, now: datetime) -> Applied:
    """A goal that is reached or dropped: tasks that serve it alone and haven't begun are left out."""
    done = signal.action == InterventionAction.GOAL_COMPLETE
    run = _noted(run, "complete" if done else "cancelled", signal)
    if run.execution.phase in PLANNING:
        return run, "passed to the planner"
    if run.execution.phase is not Phase.RUN:
        return run, TOO_LATE
    wanted = (signal.goal or signal.text()).strip().casefold()
    mine = [
        task
        for task in tasks.in_order(run)
        if task.goal_ref.strip().casefold() == wanted and tasks.result_of(run, task.id) is None
    ]
    for task in mine:
        reason = f"its goal {'is complete' if done else 'was cancelled'}"
        run = tasks.end(run, task, TaskStatus.SKIPPED, reason, now=now)
    return (tasks.after_task(run) if mine else run), f"{len(mine)} tasks are left out"


def instruct(run: Run, signal: Signal, now: datetime) -> Applied:
    """An instruction for the steps still to come; the answer, if a person was asked."""
    asked = run.execution.question
    if asked is None:
        return run, TOO_LATE if run.execution.phase is Phase.LEARNING else NEXT_STEP
    run = run.with_execution(question=None)
    task = next((task for task in run.execution.tasks or [] if task.id == asked.task_id), None)
    if task is None:
        return run.model_copy(update={"again": run.again + 1}), "it is the answer to the agent's question"
    if tasks.final(run, task.id):
        return run, NEXT_STEP
    answered = _outcome_said(run, task, signal, now) or tasks.open_turn(run, task, signal.text(), now=now)
    return answered, f"it is the answer that task {task.id} waited for"


def _outcome_said(run: Run, task: Task, signal: Signal, now: datetime) -> Run | None:
    """The run with the answer as the result of the calls of unknown outcome; None without such calls."""
    lost = unknown_calls.of(run)
    for use in lost:
        used = Used(task.id, use.step_id, unknown_calls.result(task, signal.text()))
        run = tasks.apply(run.step_reset(), used, now=now, began=now)
    return run if lost else None


def _open_task(run: Run, signal: Signal) -> tuple[Task | None, str]:
    """The task that a signal names, if it isn't over; otherwise why it can't be changed."""
    wanted = signal.task.id if signal.task else None
    task = next((task for task in run.execution.tasks or [] if task.id == wanted), None)
    if task is None:
        names = ", ".join(task.id for task in run.execution.tasks or []) or "none yet"
        return None, f"refused: expected the id of one of the plan's tasks ({names}), not {wanted!r}"
    if run.execution.phase is not Phase.RUN:
        return None, TOO_LATE
    return (None, f"too late: task {task.id} is over") if tasks.final(run, task.id) else (task, "")


def _fields(task: TaskChange | None) -> dict[str, Any]:
    return {} if task is None else task.model_dump(exclude={"id"}, exclude_none=True)


def _noted(run: Run, what: str, signal: Signal) -> Run:
    goals = run.execution.goals
    if goals is None:
        return run
    text = " ".join(part for part in (signal.goal, signal.text()) if part)
    by = f"from execution {signal.merged}" if signal.merged else "by a person"
    return run.with_execution(goals=goals.model_copy(update={"content": f"{goals.content}\n\n({what} {by}) {text}"}))
