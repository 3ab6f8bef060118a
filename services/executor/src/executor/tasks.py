"""P3: which task's turn it is, and what a task's answers mean (EX-21, EX-25)."""

from datetime import datetime

from executor.run import Run
from executor.steps import CheckRules, RequestVerdict, RulesAnswered, RunTurn, TaskAnswered, VerdictGiven
from rota_contracts.execution import Progress, Task, TaskResult, TaskStatus
from rota_contracts.ids import derived_id
from rota_contracts.robot import Phase
from rota_contracts.validation import ValidationResult

FINAL = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.SKIPPED)


def in_order(run: Run) -> list[Task]:
    """The plan's tasks as they run."""
    return sorted(run.execution.tasks or [], key=lambda task: task.order)


def result_of(run: Run, task_id: str) -> TaskResult | None:
    return next((result for result in run.execution.results if result.task_id == task_id), None)


def current(run: Run) -> Task | None:
    """The first task that has no final result."""
    for task in in_order(run):
        result = result_of(run, task.id)
        if result is None or result.status not in FINAL:
            return task
    return None


def step_id(run: Run, task: Task) -> str:
    """The idempotency key of a task's call."""
    return derived_id("step", run.id, "task", task.id)


def next_step(run: Run) -> RunTurn | CheckRules | RequestVerdict:
    """Do the task, check its rules, ask for its meaning: whichever is missing."""
    task = current(run)
    if task is None:
        raise AssertionError("a run with every task done is past its run phase")
    result = result_of(run, task.id)
    if result is None or result.output is None:
        return RunTurn(task, step_id(run, task))
    if task.id not in run.checked:
        return CheckRules(task, result.output)
    return RequestVerdict(task, result.output, derived_id("validation", run.id, task.id))


def awaited(run: Run, answer: TaskAnswered | RulesAnswered | VerdictGiven) -> bool:
    """Is this what the current task needs next?"""
    match next_step(run), answer:
        case (RunTurn(task), TaskAnswered(task_id)) | (CheckRules(task), RulesAnswered(task_id)):
            return task.id == task_id
        case RequestVerdict(_, _, asked), VerdictGiven(answered):
            return asked == answered
    return False


def apply(run: Run, outcome: TaskAnswered | RulesAnswered | VerdictGiven, *, now: datetime) -> Run:
    """The run after an answer about its current task."""
    match outcome:
        case TaskAnswered(task_id, output):
            task = _task(run, task_id)
            result = TaskResult(
                task_id=task_id,
                step_id=step_id(run, task),
                status=TaskStatus.VALIDATING,
                output=output,
                started_at=now,
            )
            return _with_result(run, result)
        case RulesAnswered(task_id, checked):
            run = run.model_copy(update={"checked": {**run.checked, task_id: checked}})
            if checked.verdict.passed and (checked.open_rules or _task(run, task_id).expected_output):
                return run
            return _judged(run, task_id, checked.verdict, None, now=now)
        case VerdictGiven(_, task_id, verdict, error):
            return _judged(run, task_id, verdict, error, now=now)


def fail_current(run: Run, reason: str, *, now: datetime) -> Run:
    """The task in hand has failed for `reason`."""
    task = current(run)
    if task is None:
        return run
    before = result_of(run, task.id) or TaskResult(
        task_id=task.id, step_id=step_id(run, task), status=TaskStatus.FAILED
    )
    update = {"status": TaskStatus.FAILED, "error": reason, "finished_at": now}
    return _with_result(run, before.model_copy(update=update))


def _judged(run: Run, task_id: str, verdict: ValidationResult, error: str | None, *, now: datetime) -> Run:
    before = result_of(run, task_id)
    if before is None:
        raise AssertionError(f"task {task_id} was judged without an output")
    passed = verdict.passed and error is None
    reason = None if passed else error or "; ".join(verdict.issues) or "the result was not accepted"
    update = {
        "status": TaskStatus.COMPLETED if passed else TaskStatus.FAILED,
        "validation": verdict,
        "error": reason,
        "finished_at": now,
    }
    run = _with_result(run, before.model_copy(update=update))
    if not passed:
        task = _task(run, task_id)
        return run.seen(error=f"task {task_id} ({task.description}): {reason}", phase=Phase.LEARNING)
    return run if current(run) is not None else run.seen(phase=Phase.DELIVERY)


def _task(run: Run, task_id: str) -> Task:
    return next(task for task in run.execution.tasks or [] if task.id == task_id)


def _with_result(run: Run, result: TaskResult) -> Run:
    others = [other for other in run.execution.results if other.task_id != result.task_id]
    results = [*others, result]
    done = sum(1 for each in results if each.status is TaskStatus.COMPLETED)
    progress = Progress(
        tasks_total=len(run.execution.tasks or []), tasks_done=done, text=f"task {result.task_id}: {result.status}"
    )
    return run.seen(results=results, progress=progress)
