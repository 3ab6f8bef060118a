"""The calls of a turn: their steps and outcomes; single calls of tools and processes, and interrupted ones."""

from collections.abc import Collection
from datetime import datetime

from executor.domain.conversation import loop
from executor.domain.conversation.loop import OPEN
from executor.domain.outcomes import CallsBegun, NotCalled, Outcome, Promised, Thought, Used
from executor.domain.run import Run
from executor.domain.steps import BeginCalls, MakeCalls, id_of
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import ToolStatus, ToolUse, Turn
from rota_contracts.messages.execution import ExecutorType, Task
from rota_contracts.robots.robot import Phase, Robot


def move(run: Run, subject: Phase | Task, turn: Turn) -> BeginCalls | MakeCalls | loop.Think:
    """What comes next in a turn that has no answer yet."""
    match loop.move(turn, serial=run.serial):
        case loop.Begin(uses):
            return BeginCalls(subject, uses)
        case loop.Act(uses):
            return MakeCalls(subject, uses)
        case loop.Wait():
            raise AssertionError("a run whose calls wait for a person is parked")
        case think:
            return think


def awaited(run: Run, step: object, turn: Turn | None, answer: Outcome) -> bool:
    """Does this step, of this turn, wait for this outcome of a call?"""
    match step, answer:
        case BeginCalls(of, uses), CallsBegun(subject, begun):
            these = uses[:1] if answer.serial else uses
            return id_of(of) == subject and [use.step_id for use in begun] == [use.step_id for use in these]
        case BeginCalls(of) | MakeCalls(of), Used(subject, key) | NotCalled(subject, key) | Promised(subject, key):
            promised = {callback.step_id for callback in run.promised}
            return id_of(of) == subject and key in started_calls(turn) - promised
    return False


def after(turn: Turn, outcome: Thought | CallsBegun | NotCalled | Used, *, at: datetime) -> Turn:
    """The turn after one outcome of its loop."""
    match outcome:
        case Thought(_, text, uses, thinking):
            return loop.with_round(turn, text, uses, at=at, thinking=thinking)
        case CallsBegun():
            turn = turn if turn.rounds else loop.with_round(turn, "", outcome.uses, at=at)
            waiting = [each.step_id for each in outcome.asks]
            return loop.begin(turn, outcome.uses, refused=outcome.refused, waiting=waiting, at=at)
        case NotCalled(_, key):
            return loop.put_back(turn, [key])
        case Used(_, key, output, error, files):
            return loop.record_result(turn, key, output, error, files=files, at=at)


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
