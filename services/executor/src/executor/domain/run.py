"""A run: an execution, which is public, and the executor's own state to go on with it."""

from datetime import timedelta
from enum import StrEnum

from pydantic import AliasChoices, Field

from executor.domain.calls.asked import AskedCall
from executor.domain.conversation import loop
from executor.domain.search.found import Found
from rota_contracts.messages.approval import ApprovalStatus, Decision
from rota_contracts.messages.control import TaskChange
from rota_contracts.messages.conversation import Round
from rota_contracts.messages.execution import Execution
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.usage import ModelCall
from rota_contracts.messages.validation import RulesReply
from rota_contracts.model import Instant, Json, Part
from rota_contracts.robots.robot import Robot
from rota_contracts.roles import Role

DEADLINE, CALLBACK, CEILING, ROOM, DECISION = "deadline", "callback", "ceiling", "room", "decision"


def deadline_id(parks: int | str) -> str:
    """The id of the deadline's signal, one for each time the run has its slot: a parked run ignores it, and gets
    another when it goes on."""
    return f"{DEADLINE}-{parks}"


class Waiting(StrEnum):
    """The answer that the execution waits for, without a worker."""

    NOTHING = ""
    VALIDATION = "validation"
    DELIVERY = "delivery"
    LEARNING = "learning"
    SLOT = "slot"


class Need(Part):
    """What a call of a model may take at most. `money` in billionths of `currency`; null where there is no price."""

    tokens: int = 0
    money: int | None = None
    currency: str = ""


class Signal(Part):
    """A signal to a run under way; it stays in the run's inbox until it is applied.

    `action`: pause, resume, stop, deadline, callback, ceiling, room, decision, or an intervention's. `role`: of the
    person, or of the run `merged`, whose goals these are. `callback`: the call whose result this is, its `output` or
    its `error`. `of_robot`: of all its robot's runs; `rev`: the revision of its definition whose status asks for it.
    `need`: of a judge's call or the learner's that has no room below a ceiling. `approval`: what `by` decided about.
    """

    id: str
    action: str
    messages: list[Message] = []
    task: TaskChange | None = None
    goal: str | None = None
    reason: str = ""
    merged: str = ""
    callback: str = ""
    output: Text | None = None
    error: str | None = None
    of_robot: bool = False
    rev: int | None = None
    need: Need | None = None
    approval: str = ""
    decision: Decision | None = None
    by: str = ""
    role: Role | None = None
    at: Instant

    def text(self) -> str:
        return "\n".join(message.text() for message in self.messages).strip() or self.reason or self.error or ""


class Callback(Part):
    """A call of a process, and the id under which its result may be sent later. `until`: how long that is waited for,
    since the process has promised it; None = no result is waited for."""

    id: str
    step_id: str
    task_id: str
    process: str
    until: Instant | None = None


class JournalEntry(Part):
    """One change of a run. `kind`: an outcome's name, or what else changes a run (see `journal`).

    A model's answer is kept unparsed (`said`, with the `tools` that it could call), so that a replay interprets it
    again; everything else as `data`. `notes`: added to the execution's. `began`: when the step began. `retry_after` in
    seconds. `call`: what the call of a model took. `understanding`: the version that understood the answer.
    """

    at: Instant
    step: str
    kind: str
    began: Instant | None = None
    said: Text | None = None
    tools: list[Json] = []
    data: Json = None
    notes: list[str] = []
    retry_after: float = 0.0
    understanding: int = 0
    call: ModelCall | None = None


class Merge(Part):
    """Goals that a run gives to another, for a reason. `queued`: that one waits for its first slot."""

    into: str
    goals: str
    reason: str = ""
    queued: bool = False


class Situation(Part):
    """A robot's situation, in lines: what is `pending`, and what `happened` since its last report. `missing`: why
    something isn't known. `short`: the robot's own runs alone were looked at."""

    pending: str = ""
    since: Instant
    happened: str = ""
    missing: list[str] = []
    short: bool = False


class Context(Part):
    """The conversation in hand, as far as its model is still sent it: from `turn` on, but for its first `rounds`.

    `of`: the phase or the task. `summary` stands for what isn't sent. `full`: it is to be compacted. `times`: it was.
    `overflows`: prompts that the provider refused; since then, `window` holds in place of the connector's, and what
    stands before the `short_…` place is sent in short.
    """

    of: str
    turn: int = 1
    rounds: int = 0
    summary: str = ""
    full: bool = False
    times: int = 0
    overflows: int = 0
    window: int = 0
    short_turn: int = 1
    short_rounds: int = 0


class HookedCall(Part):
    """The model's call `step_id` as its hooks left it; it holds until the run has `applied` another signal, which may
    change the prompt. `messages`: `HookMessage`s as JSON, in place of the prompt's."""

    step_id: str
    applied: int = 0
    messages: Text | None = None
    model: str = ""


class Layout(Part):
    """How a run is stored. `journal_bytes`: of the journal beside it. `apart`: the places of what no step changes."""

    journal_bytes: int = 0
    apart: frozenset[str] = frozenset()


class Run(Part):
    """`robot` is pinned: later changes don't affect a run that has begun.

    `parks` counts how often it gave its slot back, `granted` how often it got one again. `inbox` holds
    the signals to apply, `unsaved` the journal entries to store; neither is part of the stored run itself.
    """

    execution: Execution
    robot: Robot
    traceparent: str = ""
    definitions_rev: int = Field(default=0, description="the set of its team's definitions that it began with")
    recalled: bool = Field(default=False, description="the memory has been asked")
    surroundings: Situation | None = Field(default=None, description="what the agents that set goals look around at")
    followed: str = Field(default="", description="the run that this one follows, in short")
    found: list[Found] = Field(default=[], description="by the searches before its tasks")
    looked_up: list[Round] = Field(default=[], description="tools that the inspiration agent has used")
    context: Context | None = Field(default=None, description="once a conversation didn't fit: of the one in hand")
    hooked: HookedCall | None = Field(default=None, description="the model's call in hand, if hooks were asked")
    checked: RulesReply | None = Field(default=None, description="of the current turn: verdict of the rules")
    goals_checked: bool = Field(default=False, description="the learner has compared the goals")
    merging: Merge | None = Field(default=None, description="its goals are about to be given to another run")
    callbacks: list[Callback] = Field(default=[], description="of all calls of processes so far")
    approvals: list[AskedCall] = Field(default=[], description="of all calls that people were asked about so far")
    always: list[str] = Field(default=[], description="tools and processes that are approved for the rest of the run")
    cleared: list[str] = Field(default=[], description="calls of the round in hand that have passed all checks")
    serial: bool = Field(default=False, description="the calls of the round in hand are made one after the other")
    feedback: str = Field(default="", description="why the agent's last answer couldn't be used")
    attempts: int = Field(default=0, description="answers of this step that couldn't be used")
    failures: int = Field(default=0, description="times this step's call failed for a reason that passes")
    again: int = Field(default=0, description="times a phase was repeated: after a person's answer, for a new plan")
    sent: list[Message] = Field(default=[], description="interventions with pictures or files, which tasks are shown")
    lowered: Role | None = Field(default=None, description="the least role of those who intervened")
    replan: bool = Field(default=False, description="the goals have changed: a new plan once the current task is done")
    added: list[str] = Field(default=[], description="ids of tasks added by people: no new plan drops them")
    waiting: Waiting = Waiting.NOTHING
    asked_at: Instant | None = None
    asks: int = Field(default=0, description="times the request was sent")
    retry_at: Instant | None = None
    cancelled: str | None = Field(default=None, description="why it is to stop")
    paused: bool = False
    held: bool = Field(default=False, description="paused with its robot, as long as that is")
    ceiling: Need | None = Field(default=None, description="it waits for room below a ceiling: so much")
    status_rev: int = Field(default=0, description="the robot's revision whose status was followed last")
    parks: int = 0
    granted: int = 0
    time_left: float | None = Field(default=None, description="seconds of working time, while it is parked")
    turn_seconds: float = Field(default=0.0, description="working time of the assistant's turn so far")
    said_bytes: int = Field(default=0, description="size of all model answers so far")
    applied: int = Field(
        default=0,
        validation_alias=AliasChoices("applied", "heard"),
        serialization_alias="heard",
        description="signals of the inbox that were applied; stored under its old name",
    )
    inbox: list[Signal] = Field(default=[], exclude=True)
    unsaved: list[JournalEntry] = Field(default=[], exclude=True)
    stored: "Run | None" = Field(default=None, exclude=True, repr=False, description="as it was read or last written")
    layout: Layout = Field(default=Layout(), exclude=True, repr=False)

    @property
    def id(self) -> str:
        return self.execution.execution_id

    @property
    def over(self) -> bool:
        return self.execution.status.over

    @property
    def pausing(self) -> bool:
        """Is it paused, by itself or with its robot?"""
        return self.paused or self.held

    @property
    def blocked(self) -> bool:
        """Can't it go on, whatever slots are free?"""
        return self.pausing or self.execution.question is not None or bool(self.promised) or self.awaits_approval

    @property
    def promised(self) -> list[Callback]:
        """The calls whose results come later and are waited for."""
        return [] if self.over else [callback for callback in self.callbacks if callback.until is not None]

    @property
    def asked(self) -> list[AskedCall]:
        """The calls that wait for a person's approval."""
        return [] if self.over else [each for each in self.approvals if each.status is ApprovalStatus.PENDING]

    @property
    def awaits_approval(self) -> bool:
        """Is there nothing to do without a person's approval? What stands beside a call that waits is done first."""
        tasks = {each.task_id for each in self.asked}
        turns = [result.turns[-1] for result in self.execution.results if result.task_id in tasks and result.turns]
        return any(isinstance(loop.move(turn, serial=self.serial), loop.Wait) for turn in turns)

    @property
    def expires_at(self) -> Instant | None:
        """When a promised result or an approval expires."""
        promised = [callback.until for callback in self.promised if callback.until is not None]
        return min([*promised, *(each.expires_at for each in self.asked)], default=None)

    @property
    def parked_for(self) -> str:
        """Why it can't go on, as a text."""
        if self.execution.question is not None:
            return self.execution.question.question
        if self.asked and not self.pausing:
            return "\n\n".join(each.prompt for each in self.asked)
        names = ", ".join(callback.process for callback in self.promised)
        return f"waits for the result of process {names}" if names else "paused"

    def step_reset(self) -> "Run":
        """The same run with its step's attempts, failures and requests reset."""
        fresh = {"feedback": "", "attempts": 0, "failures": 0, "retry_at": None}
        reset = self.model_copy(update={**fresh, "waiting": Waiting.NOTHING, "asked_at": None, "asks": 0})
        return reset if self.execution.delayed is None else reset.with_execution(delayed=None)

    def with_execution(self, **changes: object) -> "Run":
        """The same run with changes in its public execution."""
        return self.model_copy(update={"execution": self.execution.model_copy(update=changes)})

    def next_check(self, patience: timedelta) -> Instant | None:
        """When a sweeper must check it if nothing happens before; None when it is over."""
        if self.over:
            return None
        if self.retry_at is not None:
            return self.retry_at
        if self.asked_at is None:
            return self.execution.created_at
        doubled: timedelta = patience * int(2 ** min(max(self.asks - 1, 0), 10))
        return self.asked_at + min(doubled, timedelta(minutes=10))
