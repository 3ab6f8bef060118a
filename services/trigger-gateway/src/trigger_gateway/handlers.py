"""The facts that the gateway consumes, and the questions that it answers."""

from rota_common.bus.router import Router
from rota_contracts.catalog import (
    APPROVAL_REQUESTED,
    EXECUTION_PARKED,
    READ_RECIPIENT,
    READ_SECRETS,
    RESERVE_ATTACHMENT,
    ROBOT_FAILED,
    ROBOT_RECOVERED,
    TEAM_REMOVED,
)
from trigger_gateway.use_cases import UseCases


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(ROBOT_FAILED, use.robot_health.on_failed)
    router.on(ROBOT_RECOVERED, use.robot_health.on_recovered)
    router.on(APPROVAL_REQUESTED, use.notify_manager.of_approval)
    router.on(EXECUTION_PARKED, use.notify_manager.of_question)
    router.on(TEAM_REMOVED, use.clear_team)
    router.answer(READ_RECIPIENT, use.read_recipient)
    router.answer(READ_SECRETS, use.read_secrets)
    router.answer(RESERVE_ATTACHMENT, use.attachments.reserve)
    return router
