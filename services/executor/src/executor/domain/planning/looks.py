"""The turn in which the inspiration agent looks up what is new for its report: a task's loop, without a task.

Only calls that may be made again begin in it, so those that a crash left begun are simply made again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from executor.domain.context.contexts import with_context
from executor.domain.conversation import loop
from executor.domain.notes import noted
from executor.domain.outcomes import AskedAbout, CallsBegun, NotCalled, Promised, TaskOutcome, Thought, Used
from executor.domain.run import Run
from executor.domain.steps import AskAgent, BeginCalls, Compact, MakeCalls, id_of
from executor.domain.tasks import asked_calls, turns
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import ToolUse, Turn
from rota_contracts.robots.robot import Phase

CAP = 5
"""Times it may use tools, unless its file sets another number."""

OUTPUT_LIMIT = 8_000
"""Characters of a reply, its own or a tool's, that are kept and shown to it."""

OF = Phase.INSPIRATION

NO_APPROVALS = "it would need a person's approval ({}), and inspiration waits for none"
NOT_AGAIN = "inspiration only makes calls that may be made again, and {} isn't declared idempotent"


def turn_of(run: Run) -> Turn:
    return Turn(number=1, rounds=run.looked_up)


def next_step(run: Run) -> AskAgent | Compact | BeginCalls | MakeCalls:
    match turns.move(run, OF, turn_of(run)):
        case loop.Think(iteration):
            again = (run.again, iteration) if iteration else (run.again,) if run.again else ()
            return with_context(run, AskAgent(OF, derived_id("step", run.id, OF, run.attempts, *again), iteration))
        case calls:
            return calls


def awaited(run: Run, outcome: TaskOutcome) -> bool:
    """Does the turn wait for this outcome?"""
    step = next_step(run)
    if isinstance(outcome, Thought):
        return isinstance(step, AskAgent) and outcome.task_id == id_of(OF)
    return not isinstance(outcome, Promised) and turns.awaited(run, step, turn_of(run), outcome)


def apply(run: Run, outcome: TaskOutcome, *, now: datetime) -> Run:
    """The run after an outcome that its turn awaits. Nothing is promised to it: it calls no processes."""
    assert isinstance(outcome, Thought | CallsBegun | NotCalled | Used)
    after = run.model_copy(update={"looked_up": turns.after(turn_of(run), outcome, at=now).rounds})
    return noted(asked_calls.clear(after, outcome), outcome.notes) if isinstance(outcome, CallsBegun) else after


def refused(uses: Sequence[ToolUse], asks: Sequence[AskedAbout]) -> Mapping[str, str]:
    """Why calls that have passed all checks aren't made here: they would wait for a person, or can't be made again."""
    once = {use.step_id: NOT_AGAIN.format(use.name) for use in uses if not use.idempotent}
    return once | {each.step_id: NO_APPROVALS.format(each.reason) for each in asks}
