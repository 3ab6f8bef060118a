"""What the scheduler listens to and what it answers. Only the replica that dispatches takes messages."""

from rota_common.bus.router import Router
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.messages.control import Withdraw, WithdrawReply
from rota_contracts.messages.execution import ExecutionFinishedV1, ExecutionStartedV1, ReadTrigger, TriggerReply
from rota_contracts.messages.goal_merge import ListWaiting, MergeInto, MergeReply, WaitingPage
from rota_contracts.messages.parking import ExecutionParkedV1, ExecutionResumableV1
from rota_contracts.messages.plan import ChangePlan, ChangePlanReply, ListPlans, PlanPage
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.robot_state import ReadRobots, RobotsReply
from rota_contracts.messages.trigger import TriggerReceivedV1
from scheduler.cancel_queued import CancelQueued
from scheduler.change_plans import ChangePlans
from scheduler.dispatcher import MAX_BATCH, Dispatcher
from scheduler.ports import Plans, Queue, RobotQueues
from scheduler.read_robot_states import ReadRobotStates
from scheduler.read_trigger import read_trigger


def reports_router(dispatcher: Dispatcher, changing: ChangePlans) -> Router:
    router = Router()

    @router.consume(catalog.TRIGGER_RECEIVED, slots=MAX_BATCH, gate=dispatcher.has_lease)
    async def on_trigger_received(event: Event[TriggerReceivedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_STARTED, slots=MAX_BATCH, gate=dispatcher.has_lease)
    async def on_execution_started(event: Event[ExecutionStartedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_PARKED, slots=MAX_BATCH, gate=dispatcher.has_lease)
    async def on_execution_parked(event: Event[ExecutionParkedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_RESUMABLE, slots=MAX_BATCH, gate=dispatcher.has_lease)
    async def on_execution_resumable(event: Event[ExecutionResumableV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_FINISHED, slots=MAX_BATCH, gate=dispatcher.has_lease)
    async def on_execution_finished(event: Event[ExecutionFinishedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.ROBOT_DELETED, gate=dispatcher.has_lease)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await dispatcher.take(event)
        await changing.drop(event.data.team_id, event.data.member_id)

    return router


def questions_router(
    queue: Queue, cancel_queued: CancelQueued, changing: ChangePlans, plans: Plans, states: ReadRobotStates
) -> Router:
    router = Router()

    @router.answer(catalog.READ_TRIGGER)
    async def on_read_trigger(question: ReadTrigger) -> TriggerReply:
        return await read_trigger(question, queue)

    @router.answer(catalog.WITHDRAW)
    async def on_withdraw(question: Withdraw) -> WithdrawReply:
        return await cancel_queued(question)

    @router.answer(catalog.CHANGE_PLAN)
    async def on_change_plan(question: ChangePlan) -> ChangePlanReply:
        return await changing(question)

    @router.answer(catalog.LIST_PLANS)
    async def on_list_plans(question: ListPlans) -> PlanPage:
        return PlanPage(items=await plans.listed(question.team_id, question.member_id, question.limit))

    @router.answer(catalog.READ_ROBOTS)
    async def on_read_robots(question: ReadRobots) -> RobotsReply:
        return await states(question)

    return router


def merging_router(robot_queues: RobotQueues) -> Router:
    router = Router()

    @router.answer(catalog.LIST_WAITING)
    async def on_list_waiting(question: ListWaiting) -> WaitingPage:
        return WaitingPage(waiting=await robot_queues.waiting(question))

    @router.answer(catalog.MERGE_INTO)
    async def on_merge_into(question: MergeInto) -> MergeReply:
        return MergeReply(done=await robot_queues.merge(question))

    return router
