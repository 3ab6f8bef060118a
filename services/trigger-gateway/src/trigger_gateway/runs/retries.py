"""The rules of retries: which executions may run again, and with which trigger. Pure."""

from datetime import datetime

from rota_common.errors import Transient
from rota_contracts.ids import retry_trigger_id
from rota_contracts.messages.conversation import ToolStatus, ToolUse
from rota_contracts.messages.execution import ExecStatus, Execution, TaskResult, TriggerReply, TriggerState
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1
from rota_contracts.roles import Role, least
from trigger_gateway.problems import Conflict, NotFound

UNKNOWN = "outcome unknown"
"""In the error of a call that may have happened, and of a task that ended with one."""


def old_trigger(team: str, execution_id: str, read: TriggerReply) -> TriggerReceivedV1:
    """The trigger of the execution that is to run again.

    Raises NotFound if it isn't kept, Conflict if the execution may not run again, and Transient when the scheduler is
    older than retries.
    """
    if read.state is TriggerState.UNKNOWN:
        text = f"team {team} has no execution {execution_id} to retry: triggers are kept for 14 days after their end"
        raise NotFound("execution_not_found", text)
    if read.state not in (TriggerState.DONE, TriggerState.REJECTED):
        text = f"expected a rejected or failed execution: {execution_id} is {read.state}; stop it first, or let it end"
        raise Conflict("execution_goes_on", text)
    if read.status is ExecStatus.COMPLETED:
        text = (
            f"expected a rejected or failed execution: {execution_id} has completed; trigger its robot to do it again"
        )
        raise Conflict("execution_completed", text)
    if read.trigger is None:
        raise Transient("the scheduler is of an older version, which doesn't hand out triggers: try again soon")
    if read.reason is RejectReason.FAILED:
        text = f"the trigger of {execution_id} is a dead letter, which alone holds its input: redrive that instead"
        raise Conflict("dead_letter", text)
    return read.trigger


def new_trigger(old: TriggerReceivedV1, execution_id: str, *, rev: int, role: Role, at: datetime) -> TriggerReceivedV1:
    """Like the old one, for the robot's revision of now. Its id derives from the old execution: retried twice, it
    is the same trigger. What a person asked for is done in no higher role than that of the one who retries it."""
    changed = {
        "trigger_id": retry_trigger_id(old.team_id, execution_id),
        "received_at": at,
        "robot_rev": rev,
        "retry_of": execution_id,
        "role": old.role and least(old.role, role),
    }
    return old.model_copy(update=changed)


def check_calls(execution_id: str, run: Execution | None) -> None:
    """Raises Conflict if a call of the ended run may have happened without a record of it."""
    if run is None:
        text = f"no record of {execution_id} is kept, so whether it called anything is unknown: retry it with force"
        raise Conflict("unknown_outcome", text)
    if calls := [call for result in run.results for call in _unknown_calls(result)]:
        text = f"the outcome of {', '.join(calls[:5])} is unknown: look at the other side, then retry it with force"
        raise Conflict("unknown_outcome", text)


def _unknown_calls(result: TaskResult) -> list[str]:
    uses = [use for turn in result.turns for each in turn.rounds for use in each.uses]
    named = [f"{_name(use)} (task {result.task_id}, step {use.step_id})" for use in uses if _is_unknown(use)]
    if not named and UNKNOWN in (result.error or ""):
        return [f"a call (task {result.task_id}, step {result.step_id})"]
    return named


def _is_unknown(use: ToolUse) -> bool:
    """Also of an idempotent one: another run calls under another step id. A started one was never answered."""
    failed = use.status is ToolStatus.FAILED and UNKNOWN in (use.error or "")
    return failed or use.status in (ToolStatus.UNKNOWN, ToolStatus.STARTED)


def _name(use: ToolUse) -> str:
    return f"{use.server}.{use.tool}" if use.server else use.name
