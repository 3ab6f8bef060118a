"""What a person may ask of a robot, and when it makes sense (TG-06 to TG-10, DEC-35): no I/O, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rota_contracts.messages.control import InterveneReply, TaskChange, has_content, missing
from rota_contracts.messages.trigger import ExecutorMode, InterventionAction, Message, RejectReason, TriggerType
from rota_contracts.robots.robot import Robot
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, NotFound

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
}
"""The fields that not every action takes."""


@dataclass(frozen=True)
class Intervention:
    """What a person asks for. `key` is the sender's own name of the request: repeats are one request.

    `executor_mode` and `locale` are those of a run that it starts or plans.
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

    @property
    def words(self) -> list[Message]:
        """What is said, for a run that starts with it: a task's description is said too."""
        described = self.task.description if self.task else None
        return [*self.messages, *([Message(content=described)] if described else [])]


def validate_intervention(wanted: Intervention) -> None:
    """Raise Invalid for an intervention that makes no sense, whatever runs; each wrong field is named (TG-10)."""
    problems = [
        FieldProblem(field, f"expected with {', '.join(actions)} only, not with {wanted.action}: leave it out")
        for field, actions in BELONGS.items()
        if getattr(wanted, field) is not None and wanted.action not in actions
    ]
    if (lack := _lack(wanted)) is not None:
        problems.append(lack)
    if problems:
        raise Invalid("invalid_request", "the intervention is not valid", problems)


def check_allowed(robot: Robot, action: InterventionAction) -> None:
    """Raise Conflict unless the robot lets itself be told this (TG-03, TG-04), with the scheduler's words for it."""
    switch = robot.robot_config.triggers.intervene
    if not switch.enabled:
        text = f"{TriggerType.HUMAN} triggers are switched off for this robot"
        raise Conflict(RejectReason.TRIGGER_DISABLED, text)
    if switch.actions and action not in switch.actions:
        text = f"expected one of the actions {', '.join(switch.actions)}, not {action}"
        raise Conflict(RejectReason.ACTION_NOT_ALLOWED, text)


def target_execution(wanted: Intervention, told: InterveneReply) -> str | None:
    """The execution that has it now; None when a run of its own shall start. Raises NotFound or Conflict otherwise."""
    if told.execution_id is not None:
        return told.execution_id
    named = wanted.execution_id
    if named is not None and told.over is not None:
        text = f"expected an execution that is under way: {named} is {told.over}; leave execution_id out to start anew"
        raise Conflict("execution_over", text)
    if named is not None:
        text = f"this robot has no execution {named}, or it still waits for its slot: see GET …/executions"
        raise NotFound("execution_not_found", text)
    if told.candidates:
        which = ", ".join(told.candidates)
        text = f"{len(told.candidates)} executions of this robot are under way: say which one, as execution_id: {which}"
        raise Conflict("several_executions", text, [FieldProblem("execution_id", f"expected one of {which}")])
    if wanted.action in STARTING:
        return None
    text = f"no execution of this robot is under way, so {wanted.action} has nothing to change; "
    raise Conflict("nothing_under_way", f"{text}{', '.join(STARTING)} start one")


def _lack(wanted: Intervention) -> FieldProblem | None:
    if wanted.action in PLANNING:
        return _lack_of_plan(wanted)
    text = missing(wanted.action, list(wanted.messages), wanted.task, wanted.goal)
    return FieldProblem(_lacking_field(wanted), text) if text else None


def _lacking_field(wanted: Intervention) -> str:
    match wanted.action:
        case Action.TASK_CANCEL | Action.TASK_UPDATE if wanted.task is None or not wanted.task.id:
            return "task.id"
        case Action.TASK_UPDATE:
            return "task"
        case Action.GOAL_COMPLETE | Action.GOAL_CANCEL:
            return "goal"
        case _:
            return "messages"


def _lack_of_plan(wanted: Intervention) -> FieldProblem | None:
    words = has_content(list(wanted.messages))
    if wanted.action is Action.PLAN_ADD:
        text = "plan.add needs a message that says what is to be done"
        return None if words else FieldProblem("messages", text)
    if not wanted.plan_id:
        text = f"{wanted.action} needs plan_id: the id that plan.add was answered with (GET …/plans lists them)"
        return FieldProblem("plan_id", text)
    changes = words or wanted.plan_time or wanted.executor_mode or wanted.locale
    if wanted.action is Action.PLAN_UPDATE and not changes:
        return FieldProblem("messages", "plan.update needs messages, plan_time, executor_mode or locale to change")
    return None
