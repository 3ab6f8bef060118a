"""A run as a task of the protocol. Pure."""

from collections.abc import Sequence

from rota_contracts.ids import derived_id
from rota_contracts.messages.approval import Approval
from rota_contracts.messages.execution import ExecStatus, Execution, TriggerReply, TriggerState
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1
from rota_contracts.model import Instant
from trigger_gateway.a2a.shapes import Shape, TaskState, agent_message, data_part, text_part
from trigger_gateway.runs.follow_execution import FoundRun

ENDED = {
    ExecStatus.COMPLETED: TaskState.COMPLETED,
    ExecStatus.FAILED: TaskState.FAILED,
    ExecStatus.CANCELLED: TaskState.CANCELED,
}
RESULT = "result"
"""The id of a task's only artifact."""


def task_of(run: FoundRun, approvals: Sequence[Approval] = ()) -> Shape:
    """`approvals`: those of its calls that wait. A run that waits for anything but a person is at work."""
    state, words, at = _status(run, approvals)
    context = context_of(run)
    status: Shape = {"state": state}
    if words:
        said = derived_id("a2a", run.execution_id, state, words)
        status["message"] = agent_message(said, [text_part(words)], context_id=context, task_id=run.execution_id)
    if at is not None:
        status["timestamp"] = at.isoformat().replace("+00:00", "Z")
    task: Shape = {"id": run.execution_id, "contextId": context, "status": status}
    if run.execution is not None and (artifact := _artifact(run.execution)):
        task["artifacts"] = [artifact]
    return task


def trigger_of(run: FoundRun) -> TriggerReceivedV1 | None:
    if run.execution is not None:
        return run.execution.trigger
    return run.trigger.trigger if run.trigger else None


def context_of(run: FoundRun) -> str:
    """The task with which the conversation began: the one that this run follows, or itself."""
    trigger = trigger_of(run)
    return (trigger.input.follows if trigger else None) or run.execution_id


def is_over(run: FoundRun) -> bool:
    if run.execution is not None:
        return run.execution.status.over
    return run.trigger is not None and run.trigger.state in (TriggerState.REJECTED, TriggerState.DONE)


def _status(run: FoundRun, approvals: Sequence[Approval]) -> tuple[TaskState, str, Instant | None]:
    """The state, its words for people, and since when it is so, if that is known."""
    if run.execution is not None:
        return _of_begun(run.execution, approvals)
    if run.trigger is not None:
        return _of_trigger(run.trigger)
    return TaskState.SUBMITTED, "", None


def _of_begun(execution: Execution, approvals: Sequence[Approval]) -> tuple[TaskState, str, Instant | None]:
    if (ended := ENDED.get(execution.status)) is not None:
        words = execution.error or execution.skipped or (execution.content.summary if execution.content else "")
        return ended, words, execution.finished_at
    if execution.question is not None:
        return TaskState.INPUT_REQUIRED, execution.question.question, execution.question.asked_at
    if approvals:
        words = "\n".join(
            f"{each.tool} waits for the approval {each.approval_id}, until {each.expires_at.isoformat()}: {each.reason}"
            for each in approvals
        )
        return TaskState.INPUT_REQUIRED, words, approvals[0].asked_at
    if execution.status is ExecStatus.PAUSED:
        return TaskState.WORKING, "paused by a person", None
    return TaskState.WORKING, execution.progress.text, execution.started_at


def _of_trigger(trigger: TriggerReply) -> tuple[TaskState, str, Instant | None]:
    """Of a run without a record: it hasn't begun, never will, or its record isn't kept any more."""
    if trigger.state is TriggerState.REJECTED:
        stopped = trigger.reason is RejectReason.STOPPED
        return TaskState.CANCELED if stopped else TaskState.REJECTED, trigger.message, None
    if trigger.status is not None and (ended := ENDED.get(trigger.status)) is not None:
        return ended, trigger.message, None
    received = trigger.trigger.received_at if trigger.trigger else None
    return TaskState.SUBMITTED, "", received


def _artifact(execution: Execution) -> Shape | None:
    """The result of a completed run. A long body is left out, and the API has it: then it is the summary."""
    content = execution.content
    if execution.status is not ExecStatus.COMPLETED or content is None:
        return None
    parts = [text_part(content.body.inline or content.summary)]
    if content.result is not None:
        parts.append(data_part(content.result))
    return {"artifactId": RESULT, "name": RESULT, "description": content.summary, "parts": [*parts]}
