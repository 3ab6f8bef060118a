"""The task of the A2A protocol that a run is, in each of its states."""

from datetime import timedelta
from typing import Any

from rota_contracts.messages.approval import Approval
from rota_contracts.messages.delivery import DeliveryContent
from rota_contracts.messages.execution import ExecStatus, Progress, TriggerReply, TriggerState
from rota_contracts.messages.run_history import PendingQuestion
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import RejectReason
from trigger_gateway.a2a.tasks import task_of
from trigger_gateway.runs.follow_execution import FoundRun

from .http.stand_ins import AT, execution

APPROVAL = Approval(
    approval_id="a1",
    member_id="leader",
    execution_id="e1",
    task_id="task-1",
    tool="crm.pay",
    arguments_sha256="0" * 64,
    reason="it pays",
    asked_at=AT,
    expires_at=AT + timedelta(hours=1),
)


def begun(status: ExecStatus, **more: Any) -> FoundRun:
    return FoundRun("e1", execution("e1", status=status).model_copy(update=more))


def queued(state: TriggerState, **more: Any) -> FoundRun:
    return FoundRun("e1", trigger=TriggerReply(trigger_id="t1", state=state, **more))


def test_each_state_of_a_run_is_a_state_of_its_task() -> None:
    asked = PendingQuestion(question="Which leads?", asked_at=AT)
    waits = "crm.pay waits for the approval a1, until 2026-03-02T10:00:00+00:00: it pays"
    rejected = {"message": "the queue is full", "reason": RejectReason.QUEUE_FULL}
    cases: list[tuple[FoundRun, tuple[Approval, ...], str, str]] = [
        (FoundRun("e1"), (), "SUBMITTED", ""),
        (queued(TriggerState.QUEUED), (), "SUBMITTED", ""),
        (queued(TriggerState.RUNNING), (), "SUBMITTED", ""),
        (queued(TriggerState.REJECTED, **rejected), (), "REJECTED", "the queue is full"),
        (queued(TriggerState.REJECTED, message="gone", reason=RejectReason.STOPPED), (), "CANCELED", "gone"),
        (queued(TriggerState.DONE, status=ExecStatus.FAILED), (), "FAILED", ""),
        (begun(ExecStatus.PENDING), (), "WORKING", ""),
        (begun(ExecStatus.RUNNING, progress=Progress(text="scores the leads")), (), "WORKING", "scores the leads"),
        (begun(ExecStatus.PAUSED), (), "WORKING", "paused by a person"),
        (begun(ExecStatus.PAUSED, question=asked), (), "INPUT_REQUIRED", "Which leads?"),
        (begun(ExecStatus.WAITING, question=asked), (), "INPUT_REQUIRED", "Which leads?"),
        (begun(ExecStatus.WAITING), (APPROVAL,), "INPUT_REQUIRED", waits),
        (begun(ExecStatus.WAITING), (), "WORKING", ""),
        (begun(ExecStatus.COMPLETED, skipped="nothing to do"), (), "COMPLETED", "nothing to do"),
        (begun(ExecStatus.FAILED, error="the model says no"), (), "FAILED", "the model says no"),
        (begun(ExecStatus.CANCELLED), (), "CANCELED", ""),
    ]
    wrong = []
    for run, approvals, state, words in cases:
        status: Any = task_of(run, approvals)["status"]
        said = status["message"]["parts"][0]["text"] if "message" in status else ""
        if (status["state"], said) != (f"TASK_STATE_{state}", words):
            wrong.append((run, status))
    assert not wrong


def test_the_result_of_a_completed_run_is_its_artifact_and_its_context_the_run_that_it_follows() -> None:
    content = DeliveryContent(summary="Two hot leads.", body=Text(inline="# Leads"), result={"hot": 2})
    trigger = execution("e1").trigger
    trigger = trigger.model_copy(update={"input": trigger.input.model_copy(update={"follows": "e0"})})
    run = begun(ExecStatus.COMPLETED, content=content, finished_at=AT, trigger=trigger)
    task = task_of(run)
    assert (task["id"], task["contextId"], task_of(begun(ExecStatus.RUNNING))["contextId"]) == ("e1", "e0", "e1")
    assert task["artifacts"] == [
        {
            "artifactId": "result",
            "name": "result",
            "description": "Two hot leads.",
            "parts": [
                {"text": "# Leads", "mediaType": "text/plain"},
                {"data": {"hot": 2}, "mediaType": "application/json"},
            ],
        }
    ]
    status: Any = task["status"]
    assert status["timestamp"] == "2026-03-02T09:00:00Z"
    assert "artifacts" not in task_of(begun(ExecStatus.FAILED, content=content))
