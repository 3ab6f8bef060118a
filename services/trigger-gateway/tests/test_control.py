"""Controlling executions that are on their way, without a server and without waiting."""

from collections.abc import Sequence

import pytest

from rota_common.errors import Transient
from rota_contracts.control import Control, ControlAction, Controlled, Intervene, Intervened, Withdraw, Withdrawn
from rota_contracts.execution import ExecStatus, TriggerRead, TriggerState
from rota_contracts.plan import ChangePlan, PlanChanged
from rota_contracts.standing import RobotState
from trigger_gateway.control_executions import PATIENCE_S, ControlExecutions


class NeverThere:
    """An executor that the execution never reaches."""

    async def control(self, word: Control) -> Controlled:
        return Controlled(execution_ids=[], unknown=word.execution_id is not None)

    async def intervene(self, word: Intervene) -> Intervened:
        return Intervened()

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        return None


class Admitted:
    """A scheduler that has given the execution e1 its slot."""

    async def withdraw(self, what: Withdraw) -> Withdrawn:
        return Withdrawn(admitted=["e1"])

    async def change_plan(self, change: ChangePlan) -> PlanChanged:
        return PlanChanged()

    async def find(self, team: str, execution_id: str) -> TriggerRead:
        return TriggerRead(trigger_id="", state=TriggerState.ADMITTED)

    async def standing(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        return []


@pytest.mark.parametrize("action", ControlAction)
async def test_an_execution_that_never_arrives_is_waited_for_3_seconds_and_then_told(action: ControlAction) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    control = ControlExecutions(NeverThere(), Admitted(), lambda: "id", sleep)
    with pytest.raises(Transient, match="execution e1 has its slot, but no executor has begun it within 3 s"):
        await control.one("acme", "e1", action, "")
    assert sum(slept) == pytest.approx(PATIENCE_S)


async def test_stopping_all_never_claims_what_it_could_not_stop() -> None:  # F11
    async def sleep(seconds: float) -> None:
        return

    control = ControlExecutions(NeverThere(), Admitted(), lambda: "id", sleep)
    with pytest.raises(Transient, match="e1 has its slot"):
        await control.every("acme", None, ControlAction.STOP, "")
