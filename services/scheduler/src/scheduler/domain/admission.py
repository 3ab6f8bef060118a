"""The rules of admission: which triggers are accepted, which of them may wait, and for how long. Pure."""

from collections.abc import Collection
from datetime import datetime, timedelta

from rota_contracts.ids import execution_id
from rota_contracts.messages.trigger import InterventionAction, RejectReason, TriggerReceivedV1, TriggerType
from rota_contracts.robots.robot import InterveneTrigger, Quota, Trigger
from rota_contracts.streams import TRIGGERS_KEPT_S
from scheduler.domain.queue import Entry, EntryState, QueueState, Refusal, pick
from scheduler.domain.robot_summary import STOPPED, Key, RobotSummary

WAITS_AT_MOST = timedelta(seconds=TRIGGERS_KEPT_S)
"""What waits longer than the bus keeps triggers is rejected."""


def consider(trigger: TriggerReceivedV1, summary: RobotSummary | None, *, now: datetime) -> Entry | Refusal:
    """Autonomous and enabled, active? Checked in this order; the first problem is the reason. An event waits until
    its robot is active."""
    if summary is None or summary.deleted:
        return Refusal(RejectReason.NO_ROBOT, f"there is no robot {trigger.member_id} in team {trigger.team_id}")
    if refusal := _refuse_switched_off(trigger, summary):
        return refusal
    if summary.status in STOPPED and not trigger.type.is_event:
        text = f"the robot is in status {summary.status}: set it to idle to let it run"
        return Refusal(RejectReason.NOT_ACTIVE, text)
    return Entry(
        execution_id=execution_id(trigger.trigger_id),
        team=trigger.team_id,
        member=trigger.member_id,
        type=trigger.type,
        priority=summary.quota.priority,
        max_running=summary.quota.max,
        queued_at=now,
    )


def enqueue(
    entry: Entry, quota: Quota, queue_state: QueueState, *, pool: int, now: datetime, stopped: Collection[Key] = ()
) -> Entry | Refusal:
    """The entry, queued, or the reason why it isn't: `quota.queue` bounds the requests of people and clocks that wait,
    not those that would start now."""
    queue_state.put(entry, EntryState.QUEUED)
    waiting, running = queue_state.requests_of[entry.robot], queue_state.running_of[entry.robot]
    if entry.type.is_event or waiting <= quota.queue:
        return entry
    if running < entry.max_running:
        picked = pick(queue_state, pool=pool, now=now, stopped=stopped)
        start = sum(each.robot == entry.robot and not each.in_backlog for each in picked)
        if waiting - start <= quota.queue:
            return entry
    queue_state.remove(entry.execution_id)
    text = f"{running} executions run and {waiting - 1} wait, which is all this robot's quota allows"
    return Refusal(RejectReason.QUEUE_FULL, text)


def expired(queue_state: QueueState, now: datetime) -> list[Entry]:
    """What has waited for its first slot for too long."""
    limit = now - WAITS_AT_MOST
    return [entry for entry in queue_state.queued.values() if entry.queued_at < limit and not entry.has_begun]


def _refuse_switched_off(trigger: TriggerReceivedV1, summary: RobotSummary) -> Refusal | None:
    if not summary.autonomous_mode:
        return Refusal(RejectReason.NOT_AUTONOMOUS, "the robot's autonomous_mode is off")
    switch = summary.trigger(trigger.type)
    if not switch.enabled:
        return Refusal(RejectReason.TRIGGER_DISABLED, f"{trigger.type} triggers are switched off for this robot")
    said = InterventionAction.INSTRUCT if trigger.type is TriggerType.HUMAN else None
    return refuse_action(trigger.input.action or said, switch)


def refuse_action(action: InterventionAction | None, switch: Trigger) -> Refusal | None:
    """A robot may have a list of the actions that people may ask of it; words without an action are an instruction."""
    if isinstance(switch, InterveneTrigger) and switch.actions and action and action not in switch.actions:
        allowed = ", ".join(switch.actions)
        return Refusal(RejectReason.ACTION_NOT_ALLOWED, f"expected one of the actions {allowed}, not {action}")
    return None
