"""The table of the service's handlers."""

from delivery_center.use_cases import UseCases
from rota_common.bus.router import Router
from rota_contracts import catalog

SLOTS = 64
"""Handlers wait for receivers most of their time: a few slow receivers must not block the rest."""


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(catalog.DELIVERY_REQUESTED, use.deliver, slots=SLOTS, when_buried=use.reject_request)
    router.on(catalog.ROBOT_DELETED, use.stop_retries)
    router.on(catalog.TEAM_REMOVED, use.remove_team)
    router.on(catalog.NOTICE_REQUESTED, use.send_notice)
    router.answer(catalog.READ_DELIVERY, use.read_delivery)
    router.answer(catalog.LIST_DELIVERIES, use.list_deliveries)
    router.answer(catalog.REPLAY_DELIVERIES, use.replay)
    router.answer(catalog.RETRY_DELIVERIES, use.bring_forward)
    router.answer(catalog.LIST_TARGETS, use.targets.list)
    router.answer(catalog.SWITCH_TARGET, use.targets.switch)
    router.answer(catalog.SUBSCRIBE, use.subscriptions.add)
    router.answer(catalog.UNSUBSCRIBE, use.subscriptions.remove)
    router.answer(catalog.LIST_SUBSCRIPTIONS, use.subscriptions.list)
    router.answer(catalog.SUPPRESS, use.suppressions.add)
    router.answer(catalog.UNSUPPRESS, use.suppressions.remove)
    router.answer(catalog.LIST_SUPPRESSIONS, use.suppressions.list)
    return router
