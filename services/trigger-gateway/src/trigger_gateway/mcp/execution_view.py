"""An execution as the answer of a tool shows it."""

from rota_contracts.messages.execution import ExecStatus, Execution, TriggerState
from rota_contracts.model import Json
from trigger_gateway.problems import NotFound
from trigger_gateway.runs.follow_execution import FoundRun


def shown(run: FoundRun) -> dict[str, Json]:
    """Raise NotFound, with the reason, for one whose trigger was rejected."""
    if run.execution is not None:
        return _begun(run.execution)
    if run.trigger is not None and run.trigger.state is TriggerState.REJECTED:
        text = f"execution {run.execution_id} was rejected: {run.trigger.message}"
        raise NotFound("execution_not_found", text)
    status = run.trigger.status if run.trigger else None
    return {"execution_id": run.execution_id, "status": status or ExecStatus.PENDING}


def _begun(execution: Execution) -> dict[str, Json]:
    """Its state, its question, and its result: a long body is left out, and the API has it."""
    content = execution.content
    body = content.body.inline if content else None
    question = execution.question
    found: dict[str, Json] = {
        "execution_id": execution.execution_id,
        "status": execution.status,
        "phase": execution.phase,
        "progress": execution.progress.model_dump(mode="json"),
        "question": question.question if question else None,
        "summary": content.summary if content else None,
        "answer": body or (content.summary if content else None),
        "result": content.result if content else None,
        "error": execution.error,
    }
    return {name: value for name, value in found.items() if value is not None}
