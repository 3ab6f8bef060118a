"""Calls of unknown outcome: a person is asked what came of them, since they aren't made again. Pure."""

from collections.abc import Sequence

from executor.domain.conversation import loop
from executor.domain.run import Run
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import ExecStatus, ExecutorType, Task, TaskResult, TaskStatus
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.text import Text

SAID = "Whether this call happened was unknown, since its worker ended in its middle. A person says of it: {said}"
READ = "what you answer is what the assistant reads as its result"
TAKEN = "what you answer is taken as its result, which is validated"
ASKED = (
    "The outcome of {calls} is unknown: the worker ended in its middle, so it may have happened or not. It isn't made "
    "again, as it isn't declared idempotent. Look at the other side, then answer what came of it: {use}. "
    "If it failed, you can also cancel task {task} (task.cancel) or stop the run."
)


def of(run: Run) -> list[ToolUse]:
    """The calls of unknown outcome of the turn in hand."""
    return [use for _, turn in _in_hand(run) for use in _uses(turn) if use.status is ToolStatus.UNKNOWN]


def follow(before: Run, after: Run) -> Run:
    """The run after a change: it asks about its calls of unknown outcome once nothing beside them is left to do, and
    asks no longer once there are none."""
    lost = of(after)
    if not lost:
        withdrawn = after.execution.question is not None and bool(of(before))
        return after.with_execution(question=None) if withdrawn else after
    if not after.serial and _are_calls_left(after):
        return after
    status = ExecStatus.PAUSED if after.pausing else ExecStatus.WAITING
    return after.with_execution(question=_question(after, lost), status=status)


def result(task: Task, said: str) -> Text:
    """A person's answer as the result of a call."""
    return Text(inline=SAID.format(said=said) if task.executor_type is ExecutorType.ASSISTANT else said)


def _question(run: Run, lost: Sequence[ToolUse]) -> PendingQuestion:
    task_id = next(each.task_id for each, turn in _in_hand(run) if lost[0] in _uses(turn))
    talks = any(
        task.id == task_id and task.executor_type is ExecutorType.ASSISTANT for task in run.execution.tasks or []
    )
    calls = " and of ".join(f"{_name(use)} (call {use.step_id})" for use in lost)
    question = ASKED.format(calls=calls, use=READ if talks else TAKEN, task=task_id)
    asked_at = max(use.finished_at for use in lost if use.finished_at is not None)
    return PendingQuestion(question=question, task_id=task_id, asked_at=asked_at)


def _in_hand(run: Run) -> list[tuple[TaskResult, Turn]]:
    """The turn that has no output yet, and the result of its task; there may be none."""
    running = [] if run.over else [each for each in run.execution.results if each.status is TaskStatus.RUNNING]
    return [(result, turn) for result in running for turn in result.turns[-1:] if turn.output is None]


def _are_calls_left(run: Run) -> bool:
    promised = {callback.step_id for callback in run.promised}
    uses = (use for _, turn in _in_hand(run) for use in _uses(turn))
    return any(use.status in loop.OPEN and use.step_id not in promised for use in uses)


def _uses(turn: Turn) -> Sequence[ToolUse]:
    return turn.rounds[-1].uses if turn.rounds else []


def _name(use: ToolUse) -> str:
    return f"{use.server}.{use.tool}" if use.server else use.name
