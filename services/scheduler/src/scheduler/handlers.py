"""The table of the scheduler's handlers. Only the replica that dispatches takes events; every replica replies."""

from rota_common.bus.router import Router
from rota_contracts import catalog
from scheduler.dispatching.dispatcher import MAX_BATCH
from scheduler.use_cases import UseCases


def build_handlers(use: UseCases) -> Router:
    router = Router()
    gate = use.signals.has_lease
    router.on(catalog.TRIGGER_RECEIVED, use.dispatcher.take, slots=MAX_BATCH, gate=gate, when_buried=use.reject_buried)
    router.on(catalog.EXECUTION_STARTED, use.dispatcher.take, slots=MAX_BATCH, gate=gate)
    router.on(catalog.EXECUTION_PARKED, use.dispatcher.take, slots=MAX_BATCH, gate=gate)
    router.on(catalog.EXECUTION_RESUMABLE, use.dispatcher.take, slots=MAX_BATCH, gate=gate)
    router.on(catalog.EXECUTION_FINISHED, use.dispatcher.take, slots=MAX_BATCH, gate=gate)
    router.on(catalog.ROBOT_DELETED, use.remove_robot, gate=gate)
    router.on(catalog.TEAM_REMOVED, use.remove_team, gate=gate)
    router.answer(catalog.READ_TRIGGER, use.find_trigger)
    router.answer(catalog.LIST_RETRYABLE, use.find_retryable)
    router.answer(catalog.WITHDRAW, use.cancel_queued)
    router.answer(catalog.CHANGE_PLAN, use.change_plans)
    router.answer(catalog.LIST_PLANS, use.change_plans.list)
    router.answer(catalog.READ_ROBOTS, use.read_robot_states)
    router.answer(catalog.LIST_WAITING, use.merge_goals.list_waiting)
    router.answer(catalog.MERGE_INTO, use.merge_goals.merge)
    return router
