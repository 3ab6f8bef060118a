"""Outcomes of an execution's steps. Plain data."""

from dataclasses import dataclass, field
from typing import get_args

from executor.domain.run import Need, Situation
from executor.domain.search.searched import Searched
from rota_contracts.messages.conversation import MadeFile, Round, ToolUse
from rota_contracts.messages.delivery import DeliveryContent, DeliveryResult
from rota_contracts.messages.execution import Goals, InspirationReport, LearningResult, Task
from rota_contracts.messages.learning import GoalsReply, Lesson
from rota_contracts.messages.memory import SharedEntry
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall
from rota_contracts.messages.validation import RulesReply, ValidationResult


@dataclass(frozen=True)
class Recalled:
    """`note`: why there are none, if the memory didn't answer; the run goes on without. `surroundings`: the situation,
    for runs that make a report, in short for others. `followed`: the run that this one follows. `rehearsed`: canned
    answers stand in for a model."""

    lessons: list[Lesson]
    note: str = ""
    known: list[SharedEntry] = field(default_factory=list)
    surroundings: Situation | None = None
    followed: str = ""
    rehearsed: bool = False


@dataclass(frozen=True)
class Inspired:
    report: InspirationReport


@dataclass(frozen=True)
class LookedUp:
    """The inspiration agent has used tools, all of a round within one step: of journals before its calls were steps."""

    round: Round


@dataclass(frozen=True)
class GoalsSet:
    goals: Goals


@dataclass(frozen=True)
class GoalsCompared:
    """`queued`: the run that `answer` wants them to be merged into waits for its first slot."""

    answer: GoalsReply
    queued: bool = False


@dataclass(frozen=True)
class GoalsGiven:
    """`done`: the run `into` has taken this one's goals. Not if it was over, or about to be."""

    into: str
    done: bool


@dataclass(frozen=True)
class Planned:
    tasks: list[Task]
    notes: list[str]


@dataclass(frozen=True)
class NothingToDo:
    """The agent found that nothing is worth doing."""

    reason: str


@dataclass(frozen=True)
class NeedsInput:
    """An agent can't go on without a person's answer."""

    question: str


@dataclass(frozen=True)
class Written:
    """The delivery's content. `notes`: on attachments that are left out."""

    content: DeliveryContent
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Thought:
    """The agent wants tools. `task_id`: of this and of the outcomes of calls, the id of what they are about
    (`steps.id_of`). `thinking`: its reasoning before that, which goes back to it with their results."""

    task_id: str
    text: str
    uses: list[ToolUse]
    thinking: Text | None = None


@dataclass(frozen=True)
class AskedAbout:
    """A call that waits for a person. `tool`: its name for people. `arguments`: in short, without credentials."""

    step_id: str
    tool: str
    reason: str
    arguments: str
    arguments_sha256: str


@dataclass(frozen=True)
class CallsBegun:
    """The calls that have been checked, as hooks left them. `callbacks`: step id of each call whose result may come
    later → the id that it is sent to then. `refused`: step id → why it isn't made. `asks`: those that wait for a
    person. `by`: the hooks that changed or cancelled some; `notes`: on hooks that failed and were passed over.
    `serial`: the others of the round come after these."""

    task_id: str
    uses: list[ToolUse]
    callbacks: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    asks: list[AskedAbout] = field(default_factory=list)
    by: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    serial: bool = False


@dataclass(frozen=True)
class Used:
    """The result of one call; `error` if it failed. `files`: what it made beside text."""

    task_id: str
    step_id: str
    output: Text | None
    error: str | None = None
    files: list[MadeFile] = field(default_factory=list)


@dataclass(frozen=True)
class NotCalled:
    """A call that certainly didn't reach the other side; `after` in seconds, if the other side asked for a delay."""

    task_id: str
    step_id: str
    reason: str
    after: float | None = None


@dataclass(frozen=True)
class Promised:
    """The call was taken; its result comes later, from outside."""

    task_id: str
    step_id: str


@dataclass(frozen=True)
class Overflowed:
    """The conversation is too long for its model: by estimate, or for its provider; then `window` tokens hold now."""

    of: str
    window: int = 0


@dataclass(frozen=True)
class Compacted:
    """What stands before this turn and round isn't sent any more; `summary` stands for it, if there is one."""

    of: str
    summary: str
    turn: int
    rounds: int


@dataclass(frozen=True)
class Hooked:
    """The hooks before the model's call `step_id` have replied. `messages` (`HookMessage`s as JSON) and `model`, a
    connector's id, stand for the prompt's own; `cancelled`: why the model isn't called. `by`: the hooks that changed
    or cancelled it. `notes`: on hooks that failed and were passed over."""

    step_id: str
    messages: Text | None = None
    model: str = ""
    cancelled: str = ""
    by: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TaskAnswered:
    """The answer that ends a turn."""

    task_id: str
    output: Text


@dataclass(frozen=True)
class TimedOut:
    """The turn has used up its budget of so many seconds."""

    task_id: str
    seconds: float


@dataclass(frozen=True)
class RulesAnswered:
    task_id: str
    checked: RulesReply


@dataclass(frozen=True)
class VerdictGiven:
    validation_id: str
    task_id: str
    verdict: ValidationResult
    error: str | None
    calls: list[ModelCall] = field(default_factory=list)


@dataclass(frozen=True)
class DeliveryTaken:
    result: DeliveryResult


@dataclass(frozen=True)
class Learnt:
    result: LearningResult
    calls: list[ModelCall] = field(default_factory=list)


@dataclass(frozen=True)
class Unusable:
    """The agent's answer isn't in the form asked for; it gets the reason as feedback and is asked again."""

    reason: str


@dataclass(frozen=True)
class StepFailed:
    """The step can't be done: a refusal, or failures for too long."""

    reason: str


@dataclass(frozen=True)
class CeilingReached:
    """The step's call of a model, which may take `need`, has no room below a ceiling: a person is asked."""

    question: str
    need: Need


@dataclass(frozen=True)
class StepDelayed:
    """The step failed for a temporary reason; `after` is the delay in seconds the other side asked for."""

    reason: str
    after: float | None


CallOutcome = CallsBegun | Used | Promised | NotCalled
TaskOutcome = Thought | CallOutcome | TaskAnswered | TimedOut | RulesAnswered | VerdictGiven
"""Outcomes of steps of the current task."""

Progressed = (
    Recalled
    | Inspired
    | LookedUp
    | GoalsSet
    | GoalsCompared
    | GoalsGiven
    | Planned
    | NothingToDo
    | NeedsInput
    | Written
    | TaskOutcome
    | DeliveryTaken
    | Learnt
)
"""The step is done."""

Outcome = Progressed | Searched | Overflowed | Compacted | Hooked | Unusable | StepFailed | StepDelayed | CeilingReached

OUTCOMES: dict[str, type[object]] = {kind.__name__: kind for kind in get_args(Outcome)}
"""Every outcome by its name, as the journal writes it."""


def calls_of(outcome: Outcome) -> list[ModelCall]:
    """What other agents' calls took that belong to this outcome: judges, the learner."""
    match outcome:
        case Searched(calls=calls) | VerdictGiven(calls=calls) | Learnt(calls=calls):
            return calls
        case GoalsCompared(answer):
            return answer.calls
        case _:
            return []
