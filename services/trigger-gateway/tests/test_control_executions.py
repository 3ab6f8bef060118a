"""Controlling executions that are on their way, without a server and without waiting."""

from collections.abc import Sequence

import pytest

from rota_common.errors import Transient
from rota_contracts.messages.control import (
    Control,
    ControlAction,
    ControlReply,
    Intervene,
    InterveneReply,
    Withdraw,
    WithdrawReply,
)
from rota_contracts.messages.execution import ExecStatus, Execution, TriggerReply, TriggerState
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from rota_contracts.messages.retry import ListRetryable, RetryablePage
from rota_contracts.messages.robot_state import RobotState
from trigger_gateway.runs.control_executions import PATIENCE_S, ControlExecutions


class NeverThere:
    """An executor that the execution never reaches."""

    async def control(self, word: Control) -> ControlReply:
        return ControlReply(execution_ids=[], unknown=word.execution_id is not None)

    async def intervene(self, word: Intervene) -> InterveneReply:
        return InterveneReply()

    async def find(self, team: str, execution_id: str) -> Execution | None:
        return None

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        return None


class Admitted:
    """A scheduler that has admitted the execution e1."""

    async def withdraw(self, what: Withdraw) -> WithdrawReply:
        return WithdrawReply(admitted=["e1"])

    async def change_plan(self, change: ChangePlan) -> ChangePlanReply:
        return ChangePlanReply()

    async def find(self, team: str, execution_id: str, *, with_trigger: bool = False) -> TriggerReply:
        return TriggerReply(trigger_id="", state=TriggerState.ADMITTED)

    async def retryable(self, question: ListRetryable) -> RetryablePage:
        return RetryablePage(executions=[])

    async def standing(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        return []


@pytest.mark.parametrize("action", ControlAction)
async def test_an_execution_that_never_begins_is_reported_after_3_seconds(action: ControlAction) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    control = ControlExecutions(executions=NeverThere(), schedule=Admitted(), new_id=lambda: "id", sleep=sleep)
    with pytest.raises(Transient, match="execution e1 is admitted, but no executor began it within 3 s"):
        await control.one("acme", "e1", action, "")
    assert sum(slept) == pytest.approx(PATIENCE_S)


async def test_stopping_all_reports_only_what_it_stopped() -> None:  # F11
    async def sleep(seconds: float) -> None:
        return

    control = ControlExecutions(executions=NeverThere(), schedule=Admitted(), new_id=lambda: "id", sleep=sleep)
    with pytest.raises(Transient, match="e1 is admitted"):
        await control.every("acme", None, ControlAction.STOP, "")
