"""The robot's other runs in lines: what is pending, and what ended since its last report."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from executor.domain.run import Run
from executor.domain.situation.wording import about
from rota_contracts.messages.execution import ExecStatus, excerpt
from rota_contracts.messages.goal_merge import Waiting
from rota_contracts.messages.plan import PlanItem
from rota_contracts.messages.run_history import Intervention, PendingQuestion
from rota_contracts.messages.trigger import InterventionAction, TriggerReceivedV1, TriggerType
from rota_contracts.model import Instant, Part

PENDING_LIMIT, HAPPENED_LIMIT = 6_000, 14_000
"""Characters of the pending lines, and of the recent ones."""

TEXT_LIMIT, DATA_LIMIT, RESULT_LIMIT, ROOM_FOR_REST = 300, 600, 3_000, 40
INTERVENTIONS_LIMIT = 5
"""Interventions of one run: the last ones."""

PEOPLES = (*InterventionAction, "pause", "resume", "stop")


class _Body(Part):
    inline: str | None = None


class _Content(Part):
    summary: str = ""
    body: _Body = _Body()


class _Delivery(Part):
    success: bool = True


class RunExcerpt(Part):
    """Another run in short: some of the fields of an `Execution`, by the same names."""

    execution_id: str
    trigger: TriggerReceivedV1
    status: ExecStatus
    created_at: Instant
    finished_at: Instant | None = None
    content: _Content | None = None
    delivery: _Delivery | None = None
    error: str | None = None
    skipped: str | None = None
    rehearsed: bool = False
    question: PendingQuestion | None = None
    interventions: list[Intervention] = []


@dataclass(frozen=True)
class RecentRuns:
    """The robot's other runs: those `under_way`, oldest first, and those that `ended` after `since`, newest first."""

    since: datetime
    under_way: Sequence[RunExcerpt]
    ended: Sequence[RunExcerpt]

    def without_rehearsed(self) -> "RecentRuns":
        """For a model's eyes."""
        begun, over = ([one for one in runs if not one.rehearsed] for runs in (self.under_way, self.ended))
        return replace(self, under_way=begun, ended=over)


def zone_of(run: Run) -> ZoneInfo:
    """The robot's own, for all instants."""
    given, config = run.execution.trigger.input.clock, run.robot.robot_config.clock
    return ZoneInfo(given.tz if given else config.tz if config else "UTC")


def pending_lines(
    plans: Iterable[PlanItem], waiting: Iterable[Waiting], under_way: Iterable[RunExcerpt], zone: ZoneInfo
) -> str:
    """Plans, runs that wait for a slot and runs under way, a line each; empty if there is nothing."""
    lines = [_planned(item, zone) for item in plans]
    lines += [f"- waits to begin since {_at(each.queued_at, zone)}: {_short(each.about)}" for each in waiting]
    return _within([*lines, *(_begun(each, zone) for each in under_way)], PENDING_LIMIT)


def recent_lines(ended: Iterable[RunExcerpt], zone: ZoneInfo) -> str:
    """The trigger, the end and the interventions of each run, and the newest result; empty if there was none."""
    runs = [*ended]
    newest = next((each for each in runs if _result(each)), None)
    lines = [_ended(each, zone) + (f"\n  - its result: {_result(each)}" if each is newest else "") for each in runs]
    return _within(lines, HAPPENED_LIMIT)


def _planned(item: PlanItem, zone: ZoneInfo) -> str:
    when = f"for {_at(item.plan_time, zone)}" if item.plan_time else "without a time"
    return f"- planned {when}: {_short(' '.join(message.text() for message in item.messages))}"


def _begun(run: RunExcerpt, zone: ZoneInfo) -> str:
    what = _short(about(run.trigger))
    if run.status is ExecStatus.PAUSED:
        return f"- paused: {what}"
    if run.question is not None:
        asked = run.question
        return f"- waits for a person since {_at(asked.asked_at, zone)}: {what}; it asks: {_short(asked.question)}"
    if run.status is ExecStatus.WAITING:
        return f"- waits for a result that was promised: {what}"
    return f"- at work since {_at(run.created_at, zone)}: {what}"


def _ended(run: RunExcerpt, zone: ZoneInfo) -> str:
    lines = [f"- {_at(run.finished_at or run.created_at, zone)}, {run.status}: {_woken(run.trigger)}{_came(run)}"]
    shown = [each for each in run.interventions if each.action in PEOPLES and (each.text or each.effect)]
    lines += [
        f"  - a person, {each.action}: {_short(each.text or each.effect)}" for each in shown[-INTERVENTIONS_LIMIT:]
    ]
    return "\n".join(lines)


def _result(run: RunExcerpt) -> str:
    """The whole result in one line, as far as its document holds it."""
    body = run.content.body.inline if run.content and run.status is ExecStatus.COMPLETED else None
    return _short(body or "", RESULT_LIMIT)


def _woken(trigger: TriggerReceivedV1) -> str:
    """The trigger of a run; an event with its data, which is the news."""
    given = trigger.input
    if trigger.type in (TriggerType.HUMAN, TriggerType.CLOCK):
        return _short(about(trigger))
    name = f"{given.event_type or trigger.type} from {given.source or 'outside'}"
    return _short(f"{name} {json.dumps(given.data, ensure_ascii=False)}" if given.data else name, DATA_LIMIT)


def _came(run: RunExcerpt) -> str:
    if run.error:
        return f" - error: {_short(run.error)}"
    if run.skipped:
        return f" - nothing to do: {_short(run.skipped)}"
    if run.content is None or not run.content.summary:
        return ""
    reached = "" if run.delivery is None or run.delivery.success else " (not delivered everywhere)"
    return f" - {_short(run.content.summary)}{reached}"


def _at(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%A %Y-%m-%d %H:%M}"


def _short(text: str, limit: int = TEXT_LIMIT) -> str:
    """One line, so that foreign text can't pass for a section of its own."""
    return excerpt(" ".join(text.split()), limit)


def _within(lines: Sequence[str], limit: int) -> str:
    """The first lines that fit, and the number of those left out."""
    kept, used = list[str](), 0
    for line in lines:
        used += len(line) + 1
        if used > limit - ROOM_FOR_REST:
            return "\n".join([*kept, f"- (and {len(lines) - len(kept)} more)"])
        kept.append(line)
    return "\n".join(kept)
