"""Tasks: their order, the next step of the current one, and its outcomes."""

from datetime import datetime

from executor.domain.context.contexts import with_context
from executor.domain.conversation import loop
from executor.domain.notes import noted
from executor.domain.outcomes import (
    CallsBegun,
    NotCalled,
    Promised,
    RulesAnswered,
    TaskAnswered,
    TaskOutcome,
    Thought,
    TimedOut,
    Used,
    VerdictGiven,
)
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, CheckRules, Compact, MakeCalls, RequestVerdict, RunTurn
from executor.domain.tasks import asked_calls, progress, promised_calls, turns, unknown_calls
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import Turn
from rota_contracts.messages.execution import ExecutorType, Progress, Task, TaskResult, TaskStatus
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Conversation, ValidationResult, ValidationRule
from rota_contracts.robots.robot import Phase

FINAL = (TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.SKIPPED)

OnItsWay = Thought | CallsBegun | NotCalled | Promised
TaskStep = RunTurn | Compact | BeginCalls | MakeCalls | CheckRules | RequestVerdict


def in_order(run: Run) -> list[Task]:
    """The plan's tasks as they run."""
    return sorted(run.execution.tasks or [], key=lambda task: task.order)


def result_of(run: Run, task_id: str) -> TaskResult | None:
    return next((result for result in run.execution.results if result.task_id == task_id), None)


def kept_tasks(run: Run) -> list[Task]:
    """The tasks that a new plan leaves as they are: those that have begun, and those that people have added."""
    begun = {result.task_id for result in run.execution.results}
    return [task for task in run.execution.tasks or [] if task.id in begun or task.id in run.added]


def final(run: Run, task_id: str) -> bool:
    result = result_of(run, task_id)
    return result is not None and result.status in FINAL


def current(run: Run) -> Task | None:
    """The first task that has no final result."""
    over = {result.task_id for result in run.execution.results if result.status in FINAL}
    left = (task for task in run.execution.tasks or [] if task.id not in over)
    return min(left, key=lambda task: task.order, default=None)


def turn_of(run: Run, task: Task) -> Turn | None:
    """The current turn."""
    result = result_of(run, task.id)
    return result.turns[-1] if result is not None and result.turns else None


def step_id(run: Run, task: Task) -> str:
    """The idempotency key of a task."""
    return derived_id("step", run.id, "task", task.id)


def conversation(run: Run, task: Task, turn: Turn) -> Conversation:
    """Tools and processes are called once; an assistant gets as many turns as its robot allows."""
    talks = task.executor_type is ExecutorType.ASSISTANT
    return Conversation(turn=turn.number, max_turns=run.robot.robot_config.executor.max_turns_per_task if talks else 1)


def rules_of(run: Run, task: Task) -> list[ValidationRule]:
    """The task's own, and those of the robot's owner."""
    return [*task.validation_rules, *run.robot.robot_config.executor.validation_rules]


def next_step(run: Run) -> TaskStep:
    """Do the task, check its rules, request a verdict: the first that is missing."""
    task = current(run)
    if task is None:
        raise AssertionError("a run with every task done is past its run phase")
    turn = turn_of(run, task) or Turn(number=1)
    if turn.output is None:
        return _work(run, task, turn)
    talk = conversation(run, task, turn)
    check_id = derived_id("validation", run.id, task.id, turn.number)
    if run.checked is None:
        return CheckRules(task, turn.output, talk, check_id)
    return RequestVerdict(task, turn.output, check_id, talk)


def _work(run: Run, task: Task, turn: Turn) -> TaskStep:
    if task.executor_type is not ExecutorType.ASSISTANT and not turn.rounds:
        return BeginCalls(task, (turns.single_call(task, run.robot, step_id(run, task)),))
    match turns.move(run, task, turn):
        case loop.Think(iteration):
            tried = (run.attempts,) if run.attempts else ()
            key = derived_id("step", run.id, "task", task.id, turn.number, iteration, *tried)
            return with_context(run, RunTurn(task, key, turn.number, iteration))
        case calls:
            return calls


def awaited(run: Run, answer: TaskOutcome) -> bool:
    """Does the current task wait for this outcome?"""
    match (step := next_step(run)), answer:
        case RunTurn(task), TaskAnswered(task_id) | Thought(task_id) | TimedOut(task_id):
            return task.id == task_id
        case BeginCalls(Task() as task) | MakeCalls(Task() as task), _:
            return turns.awaited(run, step, turn_of(run, task), answer)
        case CheckRules(task), RulesAnswered(task_id):
            return task.id == task_id
        case RequestVerdict(_, _, asked), VerdictGiven(answered):
            return asked == answered
    return False


def apply(run: Run, outcome: TaskOutcome, *, now: datetime, began: datetime) -> Run:
    """The run after an answer about its current task, whose step began at `began`."""
    return unknown_calls.follow(run, _apply(run, outcome, now=now, began=began))


def _apply(run: Run, outcome: TaskOutcome, *, now: datetime, began: datetime) -> Run:
    task = next(task for task in run.execution.tasks or [] if task.id == outcome.task_id)
    result = _result(run, task, began)
    turn = result.turns[-1] if result.turns else Turn(number=1, started_at=began)
    match outcome:
        case Thought() | CallsBegun() | NotCalled() | Promised():
            return _on_its_way(run, task, result, turn, outcome, now=now)
        case Used():
            return _used(run, task, result, turn, outcome, now=now)
        case TaskAnswered(_, output):
            return _answered(run, result, turn, output, now=now)
        case TimedOut(_, seconds):
            said = Text(inline=loop.timed_out_text(turn, seconds))
            run = with_turn(run, result, turn.model_copy(update={"output": said, "finished_at": now}))
            reason = progress.after_turns(f"Task timed out after {seconds:g}s", turn.number)
            return after_task(end(run, task, TaskStatus.FAILED, reason, now=now))
        case RulesAnswered(_, checked) if checked.verdict.passed and (checked.open_rules or task.expected_output):
            return run.model_copy(update={"checked": checked})
        case RulesAnswered(_, checked):
            return _judged(run, task, turn, checked.verdict, None, now=now)
        case VerdictGiven(_, _, verdict, error):
            return _judged(run, task, turn, verdict, error, now=now)


def _on_its_way(run: Run, task: Task, result: TaskResult, turn: Turn, outcome: OnItsWay, *, now: datetime) -> Run:
    match outcome:
        case CallsBegun():
            return _begun(run, task, result, turn, outcome, now=now)
        case Thought() | NotCalled():
            return with_turn(run, result, turns.after(turn, outcome, at=now))
        case Promised():
            return promised_calls.promise(run, outcome, now=now)


def _begun(run: Run, task: Task, result: TaskResult, turn: Turn, outcome: CallsBegun, *, now: datetime) -> Run:
    """A task that is one call has failed if that is refused."""
    turn = turns.after(turn, outcome, at=now)
    run = promised_calls.add(with_turn(run, result, turn), outcome)
    run = noted(asked_calls.clear(asked_calls.ask(run, outcome, now=now), outcome), outcome.notes)
    if outcome.refused and task.executor_type is not ExecutorType.ASSISTANT:
        reason = next(iter(outcome.refused.values()))
        return after_task(end(run, task, TaskStatus.FAILED, reason, now=now))
    return run


def _result(run: Run, task: Task, began: datetime) -> TaskResult:
    """The task's result so far; an empty one if it begins now."""
    return result_of(run, task.id) or TaskResult(
        task_id=task.id, step_id=step_id(run, task), status=TaskStatus.RUNNING, started_at=began
    )


def fail_current(run: Run, reason: str, *, now: datetime) -> Run:
    """End the current task as failed; `after_task` decides what follows."""
    task = current(run)
    return run if task is None else end(run, task, TaskStatus.FAILED, reason, now=now)


def end(run: Run, task: Task, status: TaskStatus, reason: str | None, *, now: datetime) -> Run:
    """The task is over."""
    before = result_of(run, task.id) or TaskResult(task_id=task.id, step_id=step_id(run, task), status=status)
    before = progress.with_best(before) if status is TaskStatus.FAILED else before
    update = {"status": status, "error": reason, "finished_at": now}
    ended = promised_calls.drop(_with_result(run, before.model_copy(update=update)), task_id=task.id)
    ended = asked_calls.withdraw(ended, now=now, task_id=task.id)
    ended, in_hand = unknown_calls.follow(run, ended), task == current(run)
    return ended.step_reset().model_copy(update={"checked": None}) if in_hand else ended


def calls_left(run: Run, used: Used | Promised | NotCalled) -> bool:
    """Are there other calls without an outcome?"""
    result = result_of(run, used.task_id)
    turn = result.turns[-1] if result is not None and result.turns else None
    return turn is not None and any(use.step_id != used.step_id for use in turns.open_uses(turn))


def after_task(run: Run) -> Run:
    """The run after a task is over: the next one, a new plan, the delivery, or the end."""
    failed = [result for result in run.execution.results if result.status is TaskStatus.FAILED]
    if failed and not run.robot.robot_config.executor.continue_on_failure:
        return _gives_up(run, failed[0])
    if run.replan:
        return run.model_copy(update={"replan": False, "again": run.again + 1}).with_execution(phase=Phase.TASKS)
    if current(run) is not None:
        return run
    if any(result.status is TaskStatus.COMPLETED for result in run.execution.results):
        notes = [f"{len(failed)} of {len(run.execution.tasks or [])} tasks failed"] if failed else []
        return run.with_execution(phase=Phase.DELIVERY, notes=[*run.execution.notes, *notes])
    if failed:
        return _gives_up(run, failed[0])
    return run.with_execution(phase=Phase.LEARNING, skipped="every task of the plan was cancelled")


def answer_with_question(run: Run, task: Task, question: Text, *, now: datetime) -> Run:
    """The assistant's answer in this turn is a question to a person."""
    result = _result(run, task, now)
    turn = result.turns[-1] if result.turns else Turn(number=1, started_at=now)
    return with_turn(run, result, turn.model_copy(update={"output": question, "finished_at": now}))


def _gives_up(run: Run, result: TaskResult) -> Run:
    task = next(task for task in run.execution.tasks or [] if task.id == result.task_id)
    reason = f"task {task.id} ({task.description}): {result.error}"
    return run.with_execution(error=run.execution.error or reason, phase=Phase.LEARNING)


def _used(run: Run, task: Task, result: TaskResult, turn: Turn, outcome: Used, *, now: datetime) -> Run:
    turn = turns.after(turn, outcome, at=now)
    run = with_turn(run, result, turn)
    if task.executor_type is ExecutorType.ASSISTANT:
        return run
    if outcome.error is not None or outcome.output is None:
        return after_task(end(run, task, TaskStatus.FAILED, outcome.error or "no answer", now=now))
    return _answered(run, result, turn, outcome.output, now=now)


def _answered(run: Run, result: TaskResult, turn: Turn, output: Text, *, now: datetime) -> Run:
    turn = turn.model_copy(update={"output": output, "finished_at": now})
    result = result.model_copy(update={"status": TaskStatus.VALIDATING, "output": output})
    return with_turn(run, result, turn).model_copy(update={"checked": None})


def _judged(run: Run, task: Task, turn: Turn, verdict: ValidationResult, error: str | None, *, now: datetime) -> Run:
    result = _result(run, task, now).model_copy(update={"validation": verdict})
    run = with_turn(run, result, turn.model_copy(update={"validation": verdict}))
    judged, talk = _result(run, task, now), conversation(run, task, turn)
    why = progress.standstill(judged.turns, judged.turns[-1])
    more = not (verdict.passed and verdict.complete) and verdict.need_reply and bool(verdict.reply_content)
    if error is None and more and talk.goes_on and not why:
        return open_turn(run, task, verdict.reply_content, now=now)
    if verdict.passed and error is None:
        return after_task(end(run, task, TaskStatus.COMPLETED, None, now=now))
    reason = progress.refusal(judged, why) if error is None else progress.after_turns(error, turn.number)
    return after_task(end(run, task, TaskStatus.FAILED, reason, now=now))


def open_turn(run: Run, task: Task, message: str, *, now: datetime) -> Run:
    """A new turn of a task, which begins with `message` to its assistant. A turn without an answer ends unanswered."""
    result = _result(run, task, now)
    number = len(result.turns) + 1
    turns = [*result.turns, Turn(number=number, told=message, started_at=now)]
    update = {"turns": turns, "status": TaskStatus.RUNNING, "output": None}
    return _with_result(run, result.model_copy(update=update)).model_copy(update={"checked": None})


def with_turn(run: Run, result: TaskResult, turn: Turn) -> Run:
    kept = [each for each in result.turns if each.number != turn.number]
    return _with_result(run, result.model_copy(update={"turns": [*kept, turn]}))


def _with_result(run: Run, result: TaskResult) -> Run:
    """In its old place, because results are stored one by one."""
    before = run.execution.results
    places = [index for index, other in enumerate(before) if other.task_id == result.task_id]
    results = [*before, result] if not places else [*before[: places[0]], result, *before[places[0] + 1 :]]
    done = sum(1 for each in results if each.status is TaskStatus.COMPLETED)
    text = f"task {result.task_id}: {result.status}"
    progress = Progress(tasks_total=len(run.execution.tasks or []), tasks_done=done, text=text)
    return run.with_execution(results=results, progress=progress)
