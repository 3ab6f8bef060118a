"""People's interventions in a run under way: what each changes in its tasks and goals, and what it answers (TG-07)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from executor.domain.planning.parsing import UnusableAnswer
from executor.domain.planning.plan import mended_task
from executor.domain.run import Run, Signal
from executor.domain.tasks import tasks
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.execution import Goals, Task, TaskSource, TaskStatus
from rota_contracts.messages.trigger import InterventionAction
from rota_contracts.robots.robot import Phase

Applied = tuple[Run, str]

PLANNING = (Phase.INSPIRATION, Phase.GOALS, Phase.TASKS)
TOO_LATE = "too late: the tasks are done"
HEARD = "the next step hears it"
MEANS = {"executor_type", "executor_id", "mcp_server", "mcp_tool"}
"""Fields of a task that say who does it."""


def add_task(run: Run, word: Signal, now: datetime) -> Applied:
    """A new task at the end of the plan; before there is a plan, and where nobody says who is to do it and several
    could, the planner is told."""
    if run.execution.phase in PLANNING:
        return run, "the planner hears it"
    if run.execution.phase is not Phase.RUN:
        return run, TOO_LATE
    known = run.execution.tasks or []
    raw = _fields(word.task)
    raw.setdefault("description", word.text())
    raw |= {"source": TaskSource.HUMAN, "messages": word.messages}
    try:
        task, notes = mended_task(raw, robot=run.robot, known=known)
    except UnusableAnswer as error:
        named = MEANS & raw.keys()
        return (run, f"refused: {error}") if named else _planned_anew(run)
    run = run.model_copy(update={"added": [*run.added, task.id]})
    run = run.with_execution(tasks=[*known, task], notes=[*run.execution.notes, *notes])
    return run, f"task {task.id} was added"


def cancel_task(run: Run, word: Signal, now: datetime) -> Applied:
    task, problem = _open_task(run, word)
    if task is None:
        return run, problem
    asked = run.execution.question
    if asked is not None and asked.task_id == task.id:
        run = run.with_execution(question=None)
    run = tasks.end(run, task, TaskStatus.SKIPPED, "cancelled by a person", now=now)
    return tasks.after_task(run), f"task {task.id} was cancelled"


def update_task(run: Run, word: Signal, now: datetime) -> Applied:
    """New fields for a task that isn't over; who does it can't change once it has begun."""
    task, problem = _open_task(run, word)
    if task is None or word.task is None:
        return run, problem
    changes = _fields(word.task)
    begun = tasks.result_of(run, task.id) is not None
    fixed = {*MEANS, "args"} & changes.keys()
    if begun and fixed:
        return run, f"refused: the task has begun, {', '.join(sorted(fixed))} can't change any more"
    whole = _without_its_means(task, changes) | changes | {"messages": [*task.messages, *word.messages]}
    others = [other for other in run.execution.tasks or [] if other.id != task.id]
    try:
        changed, _ = mended_task(whole, robot=run.robot, known=others, order=task.order)
    except UnusableAnswer as error:
        return run, f"refused: {error}"
    updated = [changed if other.id == task.id else other for other in run.execution.tasks or []]
    return run.with_execution(tasks=updated), f"task {task.id} was changed"


def _without_its_means(task: Task, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The task's fields; of who does it only what a change leaves as it is."""
    if {"executor_type", "executor_id"} & changes.keys():
        return task.model_dump(exclude=MEANS)
    return task.model_dump(exclude={"executor_id"} if {"mcp_server", "mcp_tool"} & changes.keys() else None)


def change_goals(run: Run, word: Signal, now: datetime) -> Applied:
    """Goals added or adjusted: written below the goals, and what hasn't begun is planned anew."""
    run = _noted(run, "added" if word.action == InterventionAction.GOAL_ADD else "adjusted", word)
    phase = run.execution.phase
    if phase in PLANNING:
        return run, "the planner hears it"
    if phase is Phase.RUN:
        return _planned_anew(run)
    return _reopened(run, word) if word.merged and run.execution.error is None else (run, TOO_LATE)


def _reopened(run: Run, word: Signal) -> Applied:
    """Another run gave its goals to this one, which was just done: nothing of it has left yet, because goals are given
    to runs that are at their tasks, and their word is heard before the next step is told to anybody."""
    goals = run.execution.goals
    if goals is None or run.execution.skipped is not None:  # its own are reached, or none
        goals = Goals(content=word.text())
    run = run.step_reset().model_copy(update={"again": run.again + 1, "goals_checked": True})
    return run.with_execution(phase=Phase.TASKS, goals=goals, content=None, skipped=None), "planned anew"


def _planned_anew(run: Run) -> Applied:
    task = tasks.current(run)
    if task is not None and tasks.result_of(run, task.id) is not None:
        return run.model_copy(update={"replan": True}), "planned anew after the task in hand"
    return run.model_copy(update={"again": run.again + 1}).with_execution(phase=Phase.TASKS), "planned anew"


def end_goal(run: Run, word: Signal, now: datetime) -> Applied:
    """A goal that is reached or dropped: tasks that serve it alone and haven't begun are left out."""
    done = word.action == InterventionAction.GOAL_COMPLETE
    run = _noted(run, "complete" if done else "cancelled", word)
    if run.execution.phase in PLANNING:
        return run, "the planner hears it"
    if run.execution.phase is not Phase.RUN:
        return run, TOO_LATE
    wanted = (word.goal or word.text()).strip().casefold()
    mine = [
        task
        for task in tasks.in_order(run)
        if task.goal_ref.strip().casefold() == wanted and tasks.result_of(run, task.id) is None
    ]
    for task in mine:
        reason = f"its goal {'is complete' if done else 'was cancelled'}"
        run = tasks.end(run, task, TaskStatus.SKIPPED, reason, now=now)
    return (tasks.after_task(run) if mine else run), f"{len(mine)} tasks are left out"


def instruct(run: Run, word: Signal, now: datetime) -> Applied:
    """An instruction for all that is still to come; the answer, where a person was asked."""
    asked = run.execution.question
    if asked is None:
        return run, TOO_LATE if run.execution.phase is Phase.LEARNING else HEARD
    run = run.with_execution(question=None)
    task = next((task for task in run.execution.tasks or [] if task.id == asked.task_id), None)
    if task is None:
        return run.model_copy(update={"again": run.again + 1}), "it is the answer to the agent's question"
    if tasks.final(run, task.id):
        return run, HEARD
    return tasks.open_turn(run, task, word.text(), now=now), f"it is the answer that task {task.id} waited for"


def _open_task(run: Run, word: Signal) -> tuple[Task | None, str]:
    """The task a word is about, if it isn't over; otherwise why it can't be changed."""
    wanted = word.task.id if word.task else None
    task = next((task for task in run.execution.tasks or [] if task.id == wanted), None)
    if task is None:
        names = ", ".join(task.id for task in run.execution.tasks or []) or "none yet"
        return None, f"refused: expected the id of one of the plan's tasks ({names}), not {wanted!r}"
    if run.execution.phase is not Phase.RUN:
        return None, TOO_LATE
    return (None, f"too late: task {task.id} is over") if tasks.final(run, task.id) else (task, "")


def _fields(task: TaskChange | None) -> dict[str, Any]:
    return {} if task is None else task.model_dump(exclude={"id"}, exclude_none=True)


def _noted(run: Run, what: str, word: Signal) -> Run:
    goals = run.execution.goals
    if goals is None:
        return run
    text = " ".join(part for part in (word.goal, word.text()) if part)
    by = f"from execution {word.merged}" if word.merged else "by a person"
    return run.with_execution(goals=goals.model_copy(update={"content": f"{goals.content}\n\n({what} {by}) {text}"}))
