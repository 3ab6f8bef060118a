"""Activities of a run: what a watcher is shown of its steps and their outcomes. Pure; each becomes one message."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from executor.domain.conversation.chat import ModelReply
from executor.domain.failures import MAX_ATTEMPTS, MAX_FAILURES
from executor.domain.outcomes import Outcome, StepDelayed, StepFailed, TaskAnswered, Thought, Unusable, Used
from executor.domain.planning import looks
from executor.domain.run import Run
from executor.domain.situation.wording import about
from executor.domain.spans.texts import PREVIEW, preview, shown, whole
from executor.domain.steps import AskAgent, Compact, MakeCalls, RunTurn, Work
from rota_contracts.messages.activity import EVENTS, ActivityKind, Doing, ObservedCall, Retrying
from rota_contracts.messages.conversation import ToolUse, Turn
from rota_contracts.messages.execution import ExecStatus, Task, excerpt
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import Usage
from rota_contracts.robots.robot import Phase


@dataclass(frozen=True)
class Seen:
    """One activity. `fields`: those of the message beside its kind, task and text."""

    kind: ActivityKind
    text: str = ""
    task_id: str | None = None
    fields: tuple[tuple[str, Any], ...] = ()

    def of_message(self) -> dict[str, Any]:
        """Its fields of the message. The text is short and has no credentials."""
        given = {"kind": self.kind, "task_id": self.task_id, "text": preview(self.text), "event": EVENTS.get(self.kind)}
        return given | dict(self.fields)


def of_begin(run: Run) -> Seen:
    return Seen(ActivityKind.RUN_STARTED, about(run.execution.trigger))


def of_end(run: Run) -> Seen:
    execution = run.execution
    if execution.status is ExecStatus.COMPLETED:
        used = execution.usage
        usage = Usage(tokens_in=used.tokens_in, tokens_out=used.tokens_out, tokens_cached=used.tokens_cached)
        said = execution.content.summary if execution.content else execution.skipped or ""
        return Seen(ActivityKind.RUN_COMPLETED, said, fields=(("usage", usage),))
    return Seen(ActivityKind.RUN_FAILED, execution.error or execution.status.value)


def of_step(run: Run, step: Work, *, verbose: bool) -> Iterator[Seen]:
    """A step that begins. `verbose`: calls with their arguments."""
    match step:
        case AskAgent(phase, _, iteration):
            yield Seen(ActivityKind.PHASE_STARTED, run.robot.phase_agent(phase))
            yield _at(Doing.THINKING, iteration)
        case RunTurn(task, _, turn, iteration):
            if iteration == 0 and turn == 1:
                yield Seen(ActivityKind.TASK_STARTED, task.description, task.id)
            elif iteration == 0:
                yield Seen(ActivityKind.TURN_STARTED, f"turn {turn}", task.id)
            yield _at(Doing.THINKING, iteration, task.id)
        case Compact(rounds=rounds):
            yield _at(Doing.COMPACTING, rounds)
        case MakeCalls(of, uses):
            task_id = of.id if isinstance(of, Task) else None
            yield _at(Doing.TOOL_EXEC, max(len(_turn(run).rounds) - 1, 0), task_id)
            for use in uses:
                arguments = whole(use.arguments) if verbose else None
                yield Seen(ActivityKind.TOOL_STARTED, use.name, task_id, _call(use, arguments=arguments))


def of_outcome(run: Run, outcome: Outcome, reply: Text | None = None) -> Iterator[Seen]:
    """The outcome of a step, which is recorded in the run already; `reply`: of its model, as it is kept."""
    task_id = None if run.execution.phase is Phase.INSPIRATION else getattr(outcome, "task_id", None)
    if reasoning := _reasoning(reply):
        yield Seen(ActivityKind.THINKING, reasoning, task_id)
    match outcome:
        case Thought(text=text) if text:
            yield Seen(ActivityKind.BLOCK_REPLY, text, task_id)
        case TaskAnswered(output=output):
            yield Seen(ActivityKind.TASK_FINISHED, shown(output), task_id)
        case Used(step_id=step_id, output=output, error=error):
            text = (shown(output) if output else "") if error is None else error
            use = _find(run, step_id)
            call = _call(use, is_error=error is not None) if use is not None else ()
            yield Seen(ActivityKind.TOOL_FINISHED, text, task_id, call)
        case Unusable(reason) | StepFailed(reason) | StepDelayed(reason):
            yield _retrying(run, outcome, reason) or Seen(ActivityKind.PHASE_FINISHED, reason)


def _retrying(run: Run, outcome: Outcome, reason: str) -> Seen | None:
    """None for a step that failed for the last time; its counters begin anew."""
    counted = {Unusable: (run.attempts, MAX_ATTEMPTS), StepDelayed: (run.failures, MAX_FAILURES)}
    attempt, most = counted.get(type(outcome), (0, 0))
    if attempt and run.execution.error is None:
        retrying = Retrying(attempt=attempt, max_attempts=most, error=preview(reason))
        return Seen(ActivityKind.RUN_RETRYING, reason, fields=(("retrying", retrying),))
    return None


def _at(doing: Doing, iteration: int, task_id: str | None = None) -> Seen:
    return Seen(ActivityKind.ACTIVITY, "", task_id, (("doing", doing), ("iteration", iteration)))


def _call(
    use: ToolUse, *, arguments: str | None = None, is_error: bool | None = None
) -> tuple[tuple[str, ObservedCall], ...]:
    seen = ObservedCall(
        id=excerpt(use.call_id or use.step_id, PREVIEW),
        name=excerpt(use.name, PREVIEW),
        arguments=arguments,
        is_error=is_error,
    )
    return (("call", seen),)


def _find(run: Run, step_id: str) -> ToolUse | None:
    """The call with this id, in the turn in hand."""
    uses = (use for made in _turn(run).rounds for use in made.uses)
    return next((use for use in uses if use.step_id == step_id), None)


def _turn(run: Run) -> Turn:
    """The turn in hand: the inspiration's, or the last one of the task that was begun last."""
    if run.execution.phase is Phase.INSPIRATION:
        return looks.turn_of(run)
    turns = run.execution.results[-1].turns[-1:] if run.execution.results else []
    return turns[0] if turns else Turn(number=1)


def _reasoning(reply: Text | None) -> str:
    """What the model's provider set apart; of large replies, which are kept elsewhere, none."""
    if reply is None or not reply.inline:
        return ""
    try:
        return ModelReply.model_validate_json(reply.inline).reasoning
    except ValidationError:
        return ""
