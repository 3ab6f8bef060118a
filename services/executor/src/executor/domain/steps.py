"""Steps of an execution. Plain data; their outcomes are in `outcomes`."""

import re
from dataclasses import dataclass

from executor.domain.run import Merge
from rota_contracts.ids import derived_id
from rota_contracts.messages.conversation import ToolUse
from rota_contracts.messages.execution import ExecStatus, Goals, Task
from rota_contracts.messages.text import Text
from rota_contracts.messages.validation import Conversation
from rota_contracts.robots.robot import Phase


def id_of(subject: Phase | Task) -> str:
    """The id of what a step is about, as its outcomes carry it in `task_id`: the task's, or the phase's name."""
    return subject.id if isinstance(subject, Task) else str(subject)


@dataclass(frozen=True)
class RecallLessons:
    """Ask the memory for lessons; before a report also gather the situation, before goals the robot's recent runs
    (unless its lessons are kept by a value of the event: those runs are others'), and read the run that this one
    `follows`."""

    query: str
    with_situation: bool = False
    with_history: bool = False
    follows: str = ""


@dataclass(frozen=True)
class AskAgent:
    """Ask the phase's agent; `step_id` is the same whenever this very step is repeated. `iteration`: rounds of tools
    so far."""

    phase: Phase
    step_id: str
    iteration: int = 0


@dataclass(frozen=True)
class CompareGoals:
    """Ask the learner whether earlier runs reached these goals."""

    goals: Goals


@dataclass(frozen=True)
class GiveGoals:
    """Let another run of the robot reach these goals too."""

    merge: Merge


@dataclass(frozen=True)
class RunTurn:
    """Let a task's assistant think, with `iteration` rounds of tools behind it in this turn."""

    task: Task
    step_id: str
    turn: int = 1
    iteration: int = 0


@dataclass(frozen=True)
class Compact:
    """Sum up what stands before this turn and round in the conversation of a task, or of a phase."""

    step_id: str
    turn: int
    rounds: int
    of: Phase | Task


@dataclass(frozen=True)
class BeginCalls:
    """Record that these calls of a task, or of a phase's agent, are about to be made."""

    of: Phase | Task
    uses: tuple[ToolUse, ...]


@dataclass(frozen=True)
class MakeCalls:
    """Make these calls, all at once; each is an outcome of its own."""

    of: Phase | Task
    uses: tuple[ToolUse, ...]


def subject_of(step: AskAgent | RunTurn | Compact | BeginCalls | MakeCalls) -> Phase | Task:
    """The phase or the task that a step is about."""
    match step:
        case AskAgent(phase):
            return phase
        case RunTurn(task):
            return task
        case Compact(of=of) | BeginCalls(of) | MakeCalls(of):
            return of


@dataclass(frozen=True)
class CheckRules:
    """Ask the validator's rule layer about a turn's output."""

    task: Task
    output: Text
    conversation: Conversation
    check_id: str


@dataclass(frozen=True)
class RequestVerdict:
    """Request a verdict from the validator's semantic layer; the answer is an event."""

    task: Task
    output: Text
    validation_id: str
    conversation: Conversation


@dataclass(frozen=True)
class RequestDelivery:
    request_id: str


def own_delivery(run_id: str) -> str:
    """The id of the request to deliver what a run has written."""
    return derived_id("delivery", run_id)


@dataclass(frozen=True)
class RequestLearning:
    pass


@dataclass(frozen=True)
class RequestSlot:
    """It was parked and can go on: request a slot from the scheduler."""

    parks: int


@dataclass(frozen=True)
class Park:
    """It waits for a person or a promised result, or is paused: release its worker and its slot."""


@dataclass(frozen=True)
class Finish:
    status: ExecStatus


@dataclass(frozen=True)
class Done:
    """It is over: at most its end is published again."""


Question = RequestVerdict | RequestDelivery | RequestLearning | RequestSlot
"""Steps that are another service's work: the run is released and waits for the event."""

Work = RecallLessons | AskAgent | CompareGoals | GiveGoals | RunTurn | Compact | BeginCalls | MakeCalls | CheckRules
"""Steps that the worker carries out itself."""

Step = Work | Question | Park | Finish | Done


def describe(step: Step) -> str:
    """A step in one line, as the journal names it; the same step always reads the same."""
    match step:
        case AskAgent(phase, step_id):
            return f"ask {phase} ({step_id[:8]})"
        case Compact(step_id, turn, rounds, of):
            return f"{id_of(of)}: compact up to turn {turn}, round {rounds} ({step_id[:8]})"
        case RequestSlot(parks):
            return f"request slot {parks}"
        case Finish(status):
            return f"finish {status}"
        case BeginCalls(of) | MakeCalls(of):
            return f"{id_of(of)}: {_about_task(step)}"
        case RunTurn() | CheckRules() | RequestVerdict():
            return f"{step.task.id}: {_about_task(step)}"
        case other:
            return type(other).__name__


def _about_task(step: RunTurn | BeginCalls | MakeCalls | CheckRules | RequestVerdict) -> str:
    match step:
        case RunTurn(_, step_id, turn, iteration):
            return f"turn {turn}, iteration {iteration} ({step_id[:8]})"
        case BeginCalls(_, uses):
            return f"begin {', '.join(f'{use.name} ({use.step_id[:8]})' for use in uses)}"
        case MakeCalls(_, uses):
            return f"call {', '.join(use.name for use in uses)}"
        case CheckRules(_, _, conversation):
            return f"check rules of turn {conversation.turn}"
        case RequestVerdict(_, _, _, conversation):
            return f"request verdict on turn {conversation.turn}"


_ASKS_MODEL = re.compile(
    r"(ask \w+|.*: (turn \d+, iteration \d+|compact up to turn \d+, round \d+)) \([0-9a-f]{8}\)", re.DOTALL
)


def asks_model(described: str) -> bool:
    """Is it a step that asks a model, by its line in the journal?"""
    return _ASKS_MODEL.fullmatch(described) is not None
