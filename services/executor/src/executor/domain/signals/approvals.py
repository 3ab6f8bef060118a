"""Decisions about calls that wait for approval, and the end of their time. Pure."""

from datetime import datetime

from executor.domain.calls.asked import AskedCall
from executor.domain.conversation import loop
from executor.domain.outcomes import Used
from executor.domain.run import Run, Signal
from executor.domain.tasks import asked_calls, tasks
from rota_contracts.messages.approval import ApprovalStatus, Decision

STATUS = {
    Decision.APPROVE: ApprovalStatus.APPROVED,
    Decision.ALWAYS: ApprovalStatus.APPROVED,
    Decision.DENY: ApprovalStatus.DENIED,
}


def find(run: Run, approval_id: str) -> AskedCall | None:
    return next((each for each in run.approvals if each.approval_id == approval_id), None)


def apply_decision(run: Run, signal: Signal, now: datetime) -> tuple[Run, str]:
    """The run after a person's decision, and the effect. The first one holds, if it came in time."""
    asked = find(run, signal.approval)
    if asked is None or signal.decision is None:
        return run, "refused: no call of this run waits for it"
    if asked.status is not ApprovalStatus.PENDING:
        return run, f"too late: it is {asked.status}"
    if signal.at >= asked.expires_at:
        return run, "too late: its time is over"
    status = STATUS[signal.decision]
    always = signal.decision is Decision.ALWAYS
    fields = {"decided_by": signal.by, "decided_at": signal.at, "note": signal.reason}
    run = asked_calls.decided(run, asked, status=status, always=always, **fields)
    if status is ApprovalStatus.DENIED:
        note = f": {signal.reason}" if signal.reason else ""
        return _failed(run, asked, f"a person denied this call{note}", now), f"{asked.tool} is denied by {signal.by}"
    if always and asked.tool not in run.always:
        run = run.model_copy(update={"always": [*run.always, asked.tool]})
    effect = f"{asked.tool} is approved by {signal.by}{', for the rest of this run' if always else ''}"
    return _approved(run, asked), effect


def expire(run: Run, *, now: datetime) -> Run:
    """The run after the time of approvals is over: their calls are denied."""
    while due := [each for each in run.asked if each.expires_at <= now]:
        run = asked_calls.decided(run, due[0], status=ApprovalStatus.EXPIRED, decided_at=now)
        wait = run.robot.robot_config.approvals.wait
        run = _failed(run, due[0], f"no one approved this call within {wait}, so it is denied", now)
    return run


def _approved(run: Run, asked: AskedCall) -> Run:
    """Its call can begin."""
    result = tasks.result_of(run, asked.task_id)
    return run if result is None else tasks.with_turn(run, result, loop.approve(result.turns[-1], asked.step_id))


def _failed(run: Run, asked: AskedCall, error: str, now: datetime) -> Run:
    """The denial is the call's result, which its assistant reads; a task that is one call has failed."""
    outcome = Used(asked.task_id, asked.step_id, None, error)
    run = run if tasks.calls_left(run, outcome) else run.step_reset()
    return tasks.apply(run, outcome, now=now, began=now)
