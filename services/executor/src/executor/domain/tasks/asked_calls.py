"""Calls that wait for a person's approval: how a run asks, and how it no longer does."""

from collections.abc import Sequence
from datetime import datetime

from executor.domain.calls.asked import AskedCall
from executor.domain.outcomes import AskedAbout, CallsBegun
from executor.domain.run import Run
from rota_contracts.ids import derived_id
from rota_contracts.messages.approval import ApprovalStatus
from rota_contracts.robots.clock_config import duration


def approval_id(step_id: str) -> str:
    return derived_id("approval", step_id)


def ask(run: Run, outcome: CallsBegun, *, now: datetime) -> Run:
    """The run with approvals for these calls, which are pending."""
    if not outcome.asks:
        return run
    made = [_asked(run, outcome.task_id, each, now) for each in outcome.asks]
    return run.model_copy(update={"approvals": [*run.approvals, *made]})


def shown(run: Run) -> Run:
    """The run, whose progress says what it waits for."""
    if not run.asked:
        return run
    text = f"task {run.asked[0].task_id}: waits for the approval of {', '.join(each.tool for each in run.asked)}"
    return run.with_execution(progress=run.execution.progress.model_copy(update={"text": text}))


def clear(run: Run, outcome: CallsBegun) -> Run:
    """The run, which knows the calls that have passed all checks; those that wait have, once they are approved."""
    passed = [use.step_id for use in outcome.uses if use.step_id not in outcome.refused]
    kept = [step_id for step_id in run.cleared if step_id in _of_round(run, outcome.task_id) and step_id not in passed]
    return run.model_copy(update={"cleared": [*kept, *passed], "serial": outcome.serial})


def withdraw(run: Run, *, now: datetime, task_id: str = "") -> Run:
    """The run, whose task is over, or which itself is: no decision is needed any more."""
    ended = {"status": ApprovalStatus.WITHDRAWN, "decided_at": now}
    return _with_pending(run, ended, [each.step_id for each in run.asked if task_id in ("", each.task_id)])


def decided(run: Run, asked: AskedCall, **fields: object) -> Run:
    """The run, of which this approval is no longer pending."""
    return _with_pending(run, fields, [asked.step_id])


def unpublished(run: Run) -> Sequence[AskedCall]:
    """The approvals whose status isn't published yet."""
    return [each for each in run.approvals if each.published is not each.status]


def all_published(run: Run) -> Run:
    """The run, all of whose approvals are published as they are."""
    return run.model_copy(
        update={"approvals": [each.model_copy(update={"published": each.status}) for each in run.approvals]}
    )


def _asked(run: Run, task_id: str, about: AskedAbout, now: datetime) -> AskedCall:
    return AskedCall(
        approval_id=approval_id(about.step_id),
        step_id=about.step_id,
        member_id=run.execution.member_id,
        execution_id=run.id,
        task_id=task_id,
        tool=about.tool,
        arguments=about.arguments,
        arguments_sha256=about.arguments_sha256,
        reason=about.reason,
        asked_at=now,
        expires_at=now + duration(run.robot.robot_config.approvals.wait),
    )


def _of_round(run: Run, task_id: str) -> set[str]:
    results = (result for result in run.execution.results if result.task_id == task_id)
    rounds = [made for result in results for turn in result.turns[-1:] for made in turn.rounds[-1:]]
    return {use.step_id for made in rounds for use in made.uses}


def _with_pending(run: Run, change: dict[str, object], step_ids: Sequence[str]) -> Run:
    pending = ApprovalStatus.PENDING
    changed = [
        each.model_copy(update=change) if each.status is pending and each.step_id in step_ids else each
        for each in run.approvals
    ]
    return run if changed == run.approvals else run.model_copy(update={"approvals": changed})
