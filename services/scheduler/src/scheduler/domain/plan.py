"""The plan queue's rules: adding, changing and removing items, and the trigger of an item that starts. Pure."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rota_contracts.ids import derived_id, execution_id
from rota_contracts.messages.control import has_content
from rota_contracts.messages.plan import ChangePlan, PlanAction, PlanChangedV1, PlanItem, PlanState
from rota_contracts.messages.trigger import InterventionAction, TriggerInput, TriggerReceivedV1, TriggerType
from rota_contracts.roles import least
from scheduler.domain.admission import refuse_action
from scheduler.domain.robot_summary import RobotSummary

NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""When an item without a time is due, until a cycle of its robot begins."""

START = "plan.start"

LIMIT = 512 * 1024
"""Bytes of an item as JSON: a message of the bus holds 1 MB, and the request for its execution carries more than it."""


@dataclass(frozen=True)
class PlanFact:
    """A stored fact that may not be published; `number` counts those of one item."""

    number: int
    fact: PlanChangedV1


@dataclass(frozen=True)
class Plan:
    """An item as it is stored. `due_at`: its time, or when to check it again; `changes`: its revision."""

    item: PlanItem
    due_at: datetime
    changes: int = 0
    unpublished: tuple[PlanFact, ...] = ()

    @property
    def key(self) -> str:
        return plan_key(self.item.team_id, self.item.member_id, self.item.plan_id)

    @property
    def owner(self) -> tuple[str, str]:
        return self.item.team_id, self.item.member_id

    @property
    def execution_id(self) -> str:
        """Of the run that it starts: always the same."""
        return execution_id(self.key)


def plan_key(team: str, member: str, plan_id: str) -> str:
    """The id of the item, and of its trigger."""
    return derived_id("plan", team, member, plan_id)


def refuse_change(robot: RobotSummary | None, question: ChangePlan) -> str | None:
    """Why this robot's plan can't be changed so; None if it can."""
    if robot is None or robot.deleted:
        return f"there is no robot {question.member_id} in team {question.team_id}"
    refusal = refuse_action(InterventionAction(question.action), robot.trigger(TriggerType.HUMAN))
    return refusal.message if refusal else None


def change(plan: Plan | None, question: ChangePlan, now: datetime) -> Plan | str | None:
    """The changed item; the reason if the change is refused; None if the item is so already."""
    match question.action:
        case PlanAction.ADD:
            return _add(plan, question, now)
        case PlanAction.REMOVE:
            if plan is not None and plan.item.state is PlanState.REMOVED:
                return None
            return _refusal(plan, question) or remove(_existing(plan), now)
        case PlanAction.UPDATE:
            return _refusal(plan, question) or _update(_existing(plan), question, now)


def _existing(plan: Plan | None) -> Plan:
    if plan is None:
        raise AssertionError("expected an item: `_refusal` refuses a missing one")
    return plan


def _refusal(plan: Plan | None, question: ChangePlan) -> str | None:
    if plan is None:
        return f"there is no item {question.plan_id} in the plan of {question.member_id}"
    if plan.item.state is PlanState.STARTED:
        return f"{question.plan_id} has started: it is execution {plan.item.execution_id}"
    if plan.item.state is PlanState.REMOVED:
        return f"{question.plan_id} was removed: add it again under another plan_id"
    return None


def _add(plan: Plan | None, question: ChangePlan, now: datetime) -> Plan | str | None:
    if plan is not None:
        return _refusal(plan, question) if plan.item.state is PlanState.REMOVED else None
    if not has_content(question.messages):
        return "plan.add needs a message that says what is to be done"
    item = PlanItem(
        plan_id=question.plan_id,
        team_id=question.team_id,
        member_id=question.member_id,
        messages=question.messages,
        plan_time=question.plan_time,
        executor_mode=question.executor_mode,
        locale=question.locale,
        role=question.role,
        created_at=now,
    )
    return _too_large(item) or _next(Plan(item, question.plan_time or NEVER), item, PlanAction.ADD, now)


def _update(plan: Plan, question: ChangePlan, now: datetime) -> Plan | str | None:
    """Fields that the question leaves empty stay as they are."""
    wanted: dict[str, Any] = {
        "messages": question.messages if has_content(question.messages) else None,
        "plan_time": question.plan_time,
        "executor_mode": question.executor_mode,
        "locale": question.locale,
    }
    item = plan.item.model_copy(update={name: value for name, value in wanted.items() if value is not None})
    if item == plan.item:
        return None
    item = item.model_copy(update={"role": least(item.role, question.role)})
    due_at = question.plan_time or plan.due_at
    return _too_large(item) or _next(replace(plan, due_at=due_at), item, PlanAction.UPDATE, now)


def _too_large(item: PlanItem) -> str | None:
    size = len(item.model_dump_json().encode())
    return (
        f"expected an item of at most {LIMIT} bytes, not {size}: refer to large files by a link"
        if size > LIMIT
        else None
    )


def remove(plan: Plan, now: datetime, *, reason: str = "") -> Plan:
    item = plan.item.model_copy(update={"state": PlanState.REMOVED, "reason": reason})
    return _next(plan, item, PlanAction.REMOVE, now)


def start(plan: Plan, now: datetime) -> Plan:
    item = plan.item.model_copy(update={"state": PlanState.STARTED, "execution_id": plan.execution_id})
    return _next(plan, item, START, now)


def trigger_of(plan: Plan, robot: RobotSummary, now: datetime) -> TriggerReceivedV1:
    """A person's trigger, planned earlier. Its id derives from the item, so it starts once, whatever is killed."""
    return TriggerReceivedV1(
        trigger_id=plan.key,
        team_id=plan.item.team_id,
        member_id=plan.item.member_id,
        type=TriggerType.HUMAN,
        input=TriggerInput(action=InterventionAction.PLAN_ADD, messages=plan.item.messages),
        received_at=now,
        executor_mode=plan.item.executor_mode,
        locale=plan.item.locale,
        robot_rev=robot.rev,
        scheduled_at=plan.item.plan_time,
        role=plan.item.role,
    )


def _next(plan: Plan, item: PlanItem, action: str, now: datetime) -> Plan:
    """The next revision, with its fact."""
    fact = PlanChangedV1(
        team_id=item.team_id,
        member_id=item.member_id,
        plan_id=item.plan_id,
        action=action,
        plan_time=item.plan_time,
        execution_id=item.execution_id,
        reason=item.reason,
        at=now,
    )
    number = plan.changes + 1
    return replace(plan, item=item, changes=number, unpublished=(*plan.unpublished, PlanFact(number, fact)))
