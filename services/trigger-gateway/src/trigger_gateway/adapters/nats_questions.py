"""What the executor and the scheduler are asked, over the bus."""

from collections.abc import Sequence

from rota_common.bus.agents import call_agent
from rota_common.bus.rpc import Ask
from rota_common.errors import Transient
from rota_contracts.catalog import (
    CHANGE_PLAN,
    CONTROL,
    INTERVENE,
    READ_EXECUTION,
    READ_ROBOTS,
    READ_TRIGGER,
    WITHDRAW,
)
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus, ReadExecution, ReadTrigger, TriggerReply
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from rota_contracts.messages.robot_state import ReadRobots, RobotState
from trigger_gateway.problems import Invalid
from trigger_gateway.rpc import asked


class BusExecutions:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def control(self, word: Control) -> ControlReply:
        return await asked(self._ask, CONTROL, word)

    async def intervene(self, word: Intervene) -> InterveneReply:
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

    async def answer(self, call: CallAgent) -> AgentReply:
        try:
            return await call_agent(self._ask, call)
        except Transient as error:
            raise Transient("the robot's agent doesn't answer now") from error


class BusSchedule:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def withdraw(self, what: Withdraw) -> WithdrawReply:
        return await asked(self._ask, WITHDRAW, what)

    async def change_plan(self, change: ChangePlan) -> ChangePlanReply:
        return await asked(self._ask, CHANGE_PLAN, change)

    async def find(self, team: str, execution_id: str) -> TriggerReply:
        question = ReadTrigger(team_id=team, trigger_id="", execution_id=execution_id)
        return await asked(self._ask, READ_TRIGGER, question)

    async def standing(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        question = ReadRobots(team_id=team, member_ids=list(members), upcoming=upcoming)
        return (await asked(self._ask, READ_ROBOTS, question, within=within)).robots
