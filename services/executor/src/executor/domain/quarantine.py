"""The quarantine of a run: its results that failed validation, and people's decisions about them.

Pure. Results are put into it when their run ends, decisions come later; both are entries of the journal.
"""

from collections.abc import Sequence
from datetime import datetime

from executor.domain.run import Run
from rota_contracts.ids import derived_id
from rota_contracts.messages.execution import ExecStatus, TaskResult, TaskStatus, excerpt
from rota_contracts.messages.quarantine import Quarantined, QuarantineDecision, QuarantineStatus
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import Part

ISSUES, ISSUE_LIMIT, TASK_LIMIT = 10, 300, 300
"""Issues that are shown, and characters of each and of a task's description."""

STATUS_AFTER = {
    QuarantineDecision.RELEASE: QuarantineStatus.RELEASED,
    QuarantineDecision.DROP: QuarantineStatus.DROPPED,
}


class Decided(Part):
    """A person's decision about one result, as the journal keeps it."""

    quarantine_id: str
    decision: QuarantineDecision
    by: str
    note: str = ""


def hold(run: Run, status: ExecStatus, *, now: datetime) -> Run:
    """The run, which ends with `status`, with its failed results in quarantine. What was stopped is never delivered,
    and neither is a dry run's."""
    if status is ExecStatus.CANCELLED or run.execution.executor_mode is not ExecutorMode.STANDARD:
        return run
    held = [_held(run, result, now) for result in run.execution.results if _failed_validation(result)]
    return run.with_execution(quarantine=held) if held else run


def decide(run: Run, decided: Decided, *, now: datetime) -> Run:
    """The run after a decision; the first one counts."""
    before = find(run, decided.quarantine_id)
    if before is None or before.status is not QuarantineStatus.HELD:
        return run
    status = STATUS_AFTER[decided.decision]
    update = {"status": status, "decided_by": decided.by, "decided_at": now, "note": decided.note}
    after = before.model_copy(update=update)
    return run.with_execution(quarantine=[after if each is before else each for each in run.execution.quarantine])


def find(run: Run, quarantine_id: str) -> Quarantined | None:
    return next((each for each in run.execution.quarantine if each.quarantine_id == quarantine_id), None)


def decided(run: Run) -> Sequence[Quarantined]:
    return [each for each in run.execution.quarantine if each.status is not QuarantineStatus.HELD]


def delivery_id(result: Quarantined) -> str:
    """The request id of its delivery: it is delivered once, however often it is requested."""
    return derived_id("delivery", result.execution_id, result.quarantine_id)


def released(run: Run, request_id: str) -> bool:
    """Is this the delivery of a released result?"""
    let_out = [each for each in run.execution.quarantine if each.status is QuarantineStatus.RELEASED]
    return request_id in [delivery_id(each) for each in let_out]


def kept_from(run: Run) -> datetime | None:
    """The instant from which a run that is over is kept: its end, or its last release, whose delivery reads it."""
    ends = [each.decided_at for each in run.execution.quarantine if each.status is QuarantineStatus.RELEASED]
    return max((at for at in [run.execution.finished_at, *ends] if at is not None), default=None)


def _failed_validation(result: TaskResult) -> bool:
    """Was the verdict on its last turn the end of the task? All other failures leave that turn without one."""
    judged = bool(result.turns) and result.turns[-1].validation is not None
    return judged and result.status is TaskStatus.FAILED and result.output is not None


def _held(run: Run, result: TaskResult, now: datetime) -> Quarantined:
    verdict, task = result.validation, next(each for each in run.execution.tasks or [] if each.id == result.task_id)
    issues = verdict.issues if verdict is not None else []
    return Quarantined(
        quarantine_id=derived_id("quarantine", run.id, result.task_id),
        task_id=result.task_id,
        score=verdict.score if verdict is not None else 0,
        issues=[excerpt(issue, ISSUE_LIMIT) for issue in issues[:ISSUES]],
        member_id=run.execution.member_id,
        execution_id=run.id,
        task=excerpt(task.description, TASK_LIMIT),
        held_at=now,
    )
