"""Interventions of people in a robot's work, and their rules: no I/O, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.json_values import unstorable
from rota_contracts.messages.control import INTERVENTION_LIMIT, InterveneReply, TaskChange, has_content, missing
from rota_contracts.messages.media import MAX_MEDIA, WrongMedia, media_in
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, Message, RejectReason, TriggerType
from rota_contracts.robots.robot import Robot
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound, TooLarge

Action = InterventionAction

STARTING = (Action.TASK_ADD, Action.GOAL_ADD, Action.INSTRUCT)
"""These start a run when none is under way; the others change one."""

PLANNING = (Action.PLAN_ADD, Action.PLAN_UPDATE, Action.PLAN_REMOVE)
TASKS = (Action.TASK_ADD, Action.TASK_CANCEL, Action.TASK_UPDATE)
GOALS = (Action.GOAL_ADJUST, Action.GOAL_ADD, Action.GOAL_COMPLETE, Action.GOAL_CANCEL)

BELONGS: dict[str, tuple[Action, ...]] = {
    "plan_time": (Action.PLAN_ADD, Action.PLAN_UPDATE),
    "plan_id": (Action.PLAN_UPDATE, Action.PLAN_REMOVE),
    "execution_id": (*TASKS, *GOALS, Action.INSTRUCT),
    "task": TASKS,
    "goal": GOALS,
    "follows": STARTING,
}
"""The fields that only some actions take."""

STARTS = ("executor_mode", "locale", "follows")
"""Fields of a run that an intervention starts or plans."""


@dataclass(frozen=True)
class Intervention:
    """A person's request to a robot. `key` is its idempotency key.

    `executor_mode` and `locale` apply to a run that it starts or plans.
    """

    action: InterventionAction
    messages: Sequence[Message] = ()
    task: TaskChange | None = None
    goal: str | None = None
    execution_id: str | None = None
    plan_id: str | None = None
    plan_time: datetime | None = None
    executor_mode: ExecutorMode | None = None
    locale: str | None = None
    key: str | None = None
    follows: str | None = None

    @property
    def of_a_start(self) -> list[str]:
        """The fields that are set and that no execution under way can use."""
        return [name for name in STARTS if getattr(self, name) is not None]

    @property
    def input_messages(self) -> list[Message]:
        """The messages of a run that starts with it; a task's description is one of them."""
        described = self.task.description if self.task else None
        return [*self.messages, *([Message(content=described)] if described else [])]


def validate_intervention(wanted: Intervention) -> None:
    """Raise Invalid, which names each wrong field, for an intervention that is wrong whatever runs."""
    problems = [
        FieldProblem(field, f"expected with {', '.join(actions)} only, not with {wanted.action}: leave it out")
        for field, actions in BELONGS.items()
        if getattr(wanted, field) is not None and wanted.action not in actions
    ]
    if wanted.execution_id is not None:
        text = "expected without execution_id: an execution that has begun keeps its own"
        problems += [FieldProblem(field, text) for field in wanted.of_a_start]
    if (problem := _missing(wanted)) is not None:
        problems.append(problem)
    problems += wrong_messages(wanted.messages)
    if wanted.task is not None and (unfit := unstorable(wanted.task.model_dump())):
        problems.append(FieldProblem("task", unfit))
    if problems:
        raise Invalid("invalid_request", "the intervention is not valid", fields=problems)
    check_size(wanted)


def check_size(wanted: Intervention) -> None:
    """Raise TooLarge for what no run has room for."""
    parts = [*wanted.messages, *([wanted.task] if wanted.task else [])]
    size = sum(len(part.model_dump_json().encode()) for part in parts) + len((wanted.goal or "").encode())
    if size > INTERVENTION_LIMIT:
        limit = f"at most {INTERVENTION_LIMIT // 1024} KB of messages and task"
        raise TooLarge("too_large", f"expected {limit}, not {size // 1024} KB: attach what is longer, as a file")


def wrong_messages(messages: Sequence[Message]) -> list[FieldProblem]:
    """What a person may not write: in another's name, or what can't be stored."""
    roles = [
        FieldProblem(f"messages.{number}.role", f"expected user, not {message.role}: a person speaks as the user")
        for number, message in enumerate(messages)
        if message.role != "user"
    ]
    unfit = [(number, unstorable(message.content) or _wrong_media(message)) for number, message in enumerate(messages)]
    problems = roles + [FieldProblem(f"messages.{number}.content", problem) for number, problem in unfit if problem]
    if not problems and (count := len(media_in(messages))) > MAX_MEDIA:
        problems.append(FieldProblem("messages", f"expected at most {MAX_MEDIA} pictures and files, not {count}"))
    return problems


def _wrong_media(message: Message) -> str:
    try:
        media_in([message])
    except WrongMedia as error:
        return str(error)
    return ""


def check_start(wanted: Intervention) -> None:
    """Raise Conflict for a task that asks for more than the run that starts with it can promise."""
    given = wanted.task.model_dump(exclude_none=True, exclude={"description"}) if wanted.task else {}
    if given:
        names = ", ".join(f"task.{name}" for name in given)
        text = f"no execution is under way, and a run that starts makes its own plan: expected {wanted.action} "
        raise Conflict("nothing_under_way", f"{text}without {names}, or once an execution has begun")


def check_allowed(robot: Robot, action: InterventionAction) -> None:
    """Raise Conflict unless the robot allows the action, with the scheduler's reasons for it."""
    switch = robot.robot_config.triggers.intervene
    if not switch.enabled:
        text = f"{TriggerType.HUMAN} triggers are switched off for this robot"
        raise Conflict(RejectReason.TRIGGER_DISABLED, text)
    if switch.actions and action not in switch.actions:
        text = f"expected one of the actions {', '.join(switch.actions)}, not {action}"
        raise Conflict(RejectReason.ACTION_NOT_ALLOWED, text)


def target_execution(wanted: Intervention, reply: InterveneReply) -> str | None:
    """The execution that received it; None if a run must be started. Raises NotFound or Conflict otherwise."""
    if reply.execution_id is not None:
        return reply.execution_id
    if reply.refused and wanted.of_a_start:
        raise Conflict("execution_begun", f"{reply.refused}: leave them out, or stop it first")
    if reply.refused:
        raise Conflict("inbox_full", f"the execution takes no more interventions: {reply.refused}")
    named = wanted.execution_id
    if named is not None and reply.over is not None:
        text = f"expected a running execution: {named} is {reply.over}; name it as follows instead, to go on from it"
        raise Conflict("execution_over", text)
    if named is not None:
        text = f"this robot has no execution {named}, or it is still queued: see GET …/executions"
        raise NotFound("execution_not_found", text)
    if reply.candidates:
        which = ", ".join(reply.candidates)
        text = f"{len(reply.candidates)} executions of this robot are running: choose one as execution_id: {which}"
        raise Conflict("several_executions", text, fields=[FieldProblem("execution_id", f"expected one of {which}")])
    if wanted.action in STARTING:
        return None
    text = f"no execution of this robot is running, so {wanted.action} has nothing to change; "
    raise Conflict("nothing_under_way", f"{text}{', '.join(STARTING)} start one")


def _missing(wanted: Intervention) -> FieldProblem | None:
    if wanted.action in PLANNING:
        return _missing_of_plan(wanted)
    text = missing(wanted.action, list(wanted.messages), wanted.task, wanted.goal)
    return FieldProblem(_missing_field(wanted), text) if text else None


def _missing_field(wanted: Intervention) -> str:
    match wanted.action:
        case Action.TASK_CANCEL | Action.TASK_UPDATE if wanted.task is None or not wanted.task.id:
            return "task.id"
        case Action.TASK_UPDATE:
            return "task"
        case Action.GOAL_COMPLETE | Action.GOAL_CANCEL:
            return "goal"
        case _:
            return "messages"


def _missing_of_plan(wanted: Intervention) -> FieldProblem | None:
    has_text = has_content(list(wanted.messages))
    if wanted.action is Action.PLAN_ADD:
        text = "plan.add needs a message with what to do"
        return None if has_text else FieldProblem("messages", text)
    if not wanted.plan_id:
        text = f"{wanted.action} needs plan_id: the id that plan.add returned (GET …/plans lists them)"
        return FieldProblem("plan_id", text)
    changes = has_text or wanted.plan_time or wanted.executor_mode or wanted.locale
    if wanted.action is Action.PLAN_UPDATE and not changes:
        return FieldProblem("messages", "plan.update needs messages, plan_time, executor_mode or locale to change")
    return None
