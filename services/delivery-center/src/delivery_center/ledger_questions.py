"""The questions about what went where, and the one that sends it once more."""

from delivery_center.delivery_log.list_deliveries import list_deliveries
from delivery_center.delivery_log.read_delivery import read_delivery
from delivery_center.delivery_log.replay import Replay
from delivery_center.ports import DeliveryLog
from rota_common.bus.router import Router
from rota_contracts.catalog import LIST_DELIVERIES, READ_DELIVERY, REPLAY_DELIVERIES
from rota_contracts.messages.delivery import DeliveryReply, ReadDelivery
from rota_contracts.messages.delivery_log import DeliveryPage, ListDeliveries, ReplayDeliveries, ReplayDeliveriesReply


def log_router(log: DeliveryLog, replay: Replay) -> Router:
    router = Router()

    @router.answer(READ_DELIVERY)
    async def on_read_delivery(question: ReadDelivery) -> DeliveryReply:
        return await read_delivery(question, log)

    @router.answer(LIST_DELIVERIES)
    async def on_list_deliveries(question: ListDeliveries) -> DeliveryPage:
        return await list_deliveries(question, log)

    @router.answer(REPLAY_DELIVERIES)
    async def on_replay_deliveries(question: ReplayDeliveries) -> ReplayDeliveriesReply:
        return await replay(question)

    return router
