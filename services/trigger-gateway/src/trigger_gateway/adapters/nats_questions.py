"""The executor, the scheduler and agents, over the bus."""

from collections.abc import Sequence
from dataclasses import dataclass

from rota_common.bus.agents import call_agent
from rota_common.bus.rpc import Ask
from rota_common.errors import Transient
from rota_contracts.catalog import (
    CHANGE_PLAN,
    CONTROL,
    INTERVENE,
    LIST_AGENTS,
    LIST_RETRYABLE,
    READ_EXECUTION,
    READ_ROBOTS,
    READ_TRIGGER,
    WITHDRAW,
)
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply, Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecStatus, Execution, ReadExecution, ReadTrigger, TriggerReply
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply
from rota_contracts.messages.provider import AgentCard, ListAgents
from rota_contracts.messages.retry import ListRetryable, RetryablePage
from rota_contracts.messages.robot_state import ReadRobots, RobotState
from trigger_gateway import rpc
from trigger_gateway.problems import Invalid


@dataclass(frozen=True)
class NatsExecutions:
    ask: Ask

    async def control(self, command: Control) -> ControlReply:
        return await rpc.call(self.ask, CONTROL, command)

    async def intervene(self, intervention: Intervene) -> InterveneReply:
        return await rpc.call(self.ask, INTERVENE, intervention)

    async def find(self, team: str, execution_id: str) -> Execution | None:
        question = ReadExecution(team_id=team, execution_id=execution_id)
        return (await rpc.call(self.ask, READ_EXECUTION, question)).execution

    async def status(self, team: str, execution_id: str) -> ExecStatus | None:
        try:
            found = await self.find(team, execution_id)
        except (Transient, Invalid):
            return None
        return found.status if found else None


@dataclass(frozen=True)
class NatsAgents:
    ask: Ask

    async def answer(self, call: CallAgent) -> AgentReply:
        try:
            return await call_agent(self.ask, call)
        except Transient as error:
            raise Transient("the robot's agent doesn't answer now") from error

    async def cards(self, team: str) -> list[AgentCard]:
        return (await rpc.call(self.ask, LIST_AGENTS, ListAgents(team_id=team))).agents


@dataclass(frozen=True)
class NatsSchedule:
    ask: Ask

    async def withdraw(self, request: Withdraw) -> WithdrawReply:
        return await rpc.call(self.ask, WITHDRAW, request)

    async def change_plan(self, change: ChangePlan) -> ChangePlanReply:
        return await rpc.call(self.ask, CHANGE_PLAN, change)

    async def find(self, team: str, execution_id: str, *, with_trigger: bool = False) -> TriggerReply:
        request = ReadTrigger(team_id=team, trigger_id="", execution_id=execution_id, with_trigger=with_trigger)
        return await rpc.call(self.ask, READ_TRIGGER, request)

    async def retryable(self, question: ListRetryable) -> RetryablePage:
        return await rpc.call(self.ask, LIST_RETRYABLE, question, show_reason=True)

    async def states(
        self, team: str, members: Sequence[str], *, upcoming: int = 0, within: float | None = None
    ) -> list[RobotState]:
        request = ReadRobots(team_id=team, member_ids=list(members), upcoming=upcoming)
        return (await rpc.call(self.ask, READ_ROBOTS, request, within=within)).robots
