"""The facts that the gateway consumes."""

from rota_common.bus.router import Router
from rota_contracts.catalog import ROBOT_FAILED, ROBOT_RECOVERED
from trigger_gateway.use_cases import UseCases


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(ROBOT_FAILED, use.robot_health.on_failed)
    router.on(ROBOT_RECOVERED, use.robot_health.on_recovered)
    return router
