"""What the executor and the scheduler are asked, over the bus."""

from collections.abc import Sequence

from rota_common.asking import Ask
from rota_common.errors import Transient
from rota_common.patience import call_agent
from rota_contracts.agent import AgentAnswered, CallAgent
from rota_contracts.catalog import (
    CHANGE_PLAN,
    CONTROL,
    INTERVENE,
    READ_EXECUTION,
    READ_ROBOTS,
    READ_TRIGGER,
    WITHDRAW,
)
from rota_contracts.control import Control, Controlled, Intervene, Intervened, Withdraw, Withdrawn
from rota_contracts.execution import ExecStatus, ReadExecution, ReadTrigger, TriggerRead
from rota_contracts.plan import ChangePlan, PlanChanged
from rota_contracts.standing import ReadRobots, RobotState
from trigger_gateway.asking import asked
from trigger_gateway.problems import Invalid


class BusExecutions:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def control(self, word: Control) -> Controlled:
        return await asked(self._ask, CONTROL, word)

    async def intervene(self, word: Intervene) -> Intervened:
        return await asked(self._ask, INTERVENE, word)

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        try:
            read = await asked(self._ask, READ_EXECUTION, ReadExecution(team_id=team, execution_id=execution_id))
        except (Transient, Invalid):
            return None
        return read.execution.status if read.execution else None


class BusAgents:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def answer(self, call: CallAgent) -> AgentAnswered:
        try:
            return await call_agent(self._ask, call)
        except Transient as error:
            raise Transient("the robot's agent doesn't answer now") from error


class BusSchedule:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def withdraw(self, what: Withdraw) -> Withdrawn:
        return await asked(self._ask, WITHDRAW, what)

    async def change_plan(self, change: ChangePlan) -> PlanChanged:
        return await asked(self._ask, CHANGE_PLAN, change)

    async def find(self, team: str, execution_id: str) -> TriggerRead:
        question = ReadTrigger(team_id=team, trigger_id="", execution_id=execution_id)
        return await asked(self._ask, READ_TRIGGER, question)

    async def standing(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        question = ReadRobots(team_id=team, member_ids=list(members), upcoming=upcoming)
        return (await asked(self._ask, READ_ROBOTS, question, within=within)).robots
