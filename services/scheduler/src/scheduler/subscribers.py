"""What the scheduler listens to and what it answers. Only the replica that dispatches takes messages."""

from rota_common.router import Router
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.execution import ExecutionFinishedV1, ExecutionStartedV1, ReadTrigger, TriggerRead
from rota_contracts.robot import RobotDeletedV1
from rota_contracts.trigger import TriggerReceivedV1
from scheduler.dispatch import MAX_BATCH, Dispatcher
from scheduler.ports import Queue
from scheduler.read_trigger import read_trigger


def build_router(dispatcher: Dispatcher, queue: Queue) -> Router:
    router = Router()

    @router.consume(catalog.TRIGGER_RECEIVED, slots=MAX_BATCH, gate=dispatcher.held)
    async def on_trigger_received(event: Event[TriggerReceivedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_STARTED, slots=MAX_BATCH, gate=dispatcher.held)
    async def on_execution_started(event: Event[ExecutionStartedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.EXECUTION_FINISHED, slots=MAX_BATCH, gate=dispatcher.held)
    async def on_execution_finished(event: Event[ExecutionFinishedV1]) -> None:
        await dispatcher.take(event)

    @router.consume(catalog.ROBOT_DELETED, gate=dispatcher.held)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await dispatcher.take(event)

    @router.answer(catalog.READ_TRIGGER)
    async def on_read_trigger(question: ReadTrigger) -> TriggerRead:
        return await read_trigger(question, queue)

    return router
