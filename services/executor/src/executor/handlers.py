"""What the executor listens to and what it answers."""

from executor.calls import CallAgents
from executor.domain.outcomes import DeliveryTaken, Learnt, VerdictGiven
from executor.may_deliver import DecidePermission
from executor.ports import Runs
from executor.replay import Replay
from executor.signals import SendSignal
from executor.start_execution import StartExecution
from executor.stop_robot import StopRobot
from executor.take_result import TakeResult
from executor.worker import RunWorker
from rota_common.bus.router import Router
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.control import Control, ControlReply, Intervene, InterveneReply
from rota_contracts.messages.delivery import DeliveryAcceptedV1, DeliveryPermission, MayDeliver
from rota_contracts.messages.execution import (
    ExecutionPage,
    ExecutionReply,
    ExecutionRequestedV1,
    LearningResult,
    ListExecutions,
    ReadExecution,
)
from rota_contracts.messages.executor_capacity import CheckSlots, SlotsReply
from rota_contracts.messages.learning import LearningCompletedV1
from rota_contracts.messages.replay import ReplayExecution, ReplayReply
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.validation import ValidationCompletedV1


def build_router(*, start: StartExecution, drive: RunWorker, stop: StopRobot, slots: int) -> Router:
    router = Router()

    @router.consume(catalog.EXECUTION_REQUESTED, slots=slots, when_buried=start.give_up)
    async def on_execution_requested(event: Event[ExecutionRequestedV1]) -> None:
        await start(event)

    @router.consume(catalog.VALIDATION_COMPLETED, slots=slots)
    async def on_validation_completed(event: Event[ValidationCompletedV1]) -> None:
        data = event.data
        verdict = VerdictGiven(data.validation_id, data.task_id, data.verdict, data.error)
        await drive.resume(data.execution_id, verdict)

    @router.consume(catalog.DELIVERY_ACCEPTED, slots=slots)
    async def on_delivery_accepted(event: Event[DeliveryAcceptedV1]) -> None:
        await drive.resume(event.data.execution_id, DeliveryTaken(event.data.result))

    @router.consume(catalog.LEARNING_COMPLETED, slots=slots)
    async def on_learning_completed(event: Event[LearningCompletedV1]) -> None:
        data = event.data
        result = LearningResult(lessons=data.lessons, skipped=data.skipped, error=data.error)
        await drive.resume(data.execution_id, Learnt(result))

    @router.consume(catalog.ROBOT_DELETED)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await stop(event.data)

    return router


def build_control(*, give: SendSignal, leave: DecidePermission, take: TakeResult) -> Router:
    router = Router()

    @router.answer(catalog.CONTROL)
    async def on_control(question: Control) -> ControlReply:
        return await give.control(question)

    @router.answer(catalog.INTERVENE)
    async def on_intervene(question: Intervene) -> InterveneReply:
        return await give.intervene(question)

    @router.answer(catalog.CALL_BACK)
    async def on_call_back(result: CallBack) -> CallbackReply:
        return await take(result)

    @router.answer(catalog.MAY_DELIVER)
    async def on_may_deliver(question: MayDeliver) -> DeliveryPermission:
        return await leave(question)

    return router


def build_answers(*, runs: Runs, call: CallAgents, replay: Replay) -> Router:
    router = Router()

    @router.answer(catalog.CALL_AGENT)
    async def on_call_agent(call_wanted: CallAgent) -> AgentReply:
        return await call(call_wanted)

    @router.answer(catalog.READ_EXECUTION)
    async def on_read_execution(question: ReadExecution) -> ExecutionReply:
        run = await runs.find(question.execution_id)
        mine = run is not None and run.execution.team_id == question.team_id
        return ExecutionReply(execution=run.execution if run is not None and mine else None)

    @router.answer(catalog.CHECK_SLOTS)
    async def on_check_slots(question: CheckSlots) -> SlotsReply:
        return SlotsReply(slots=list(await runs.slots(question.execution_ids)))

    @router.answer(catalog.REPLAY)
    async def on_replay(question: ReplayExecution) -> ReplayReply:
        return await replay(question)

    @router.answer(catalog.LIST_EXECUTIONS)
    async def on_list_executions(question: ListExecutions) -> ExecutionPage:
        return await runs.list(question)

    return router
