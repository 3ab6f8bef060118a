"""The questions about a team's targets."""

from delivery_center.targets.manage_targets import ManageTargets
from rota_common.bus.router import Router
from rota_contracts.catalog import LIST_TARGETS, SWITCH_TARGET
from rota_contracts.messages.targets import ListTargets, SwitchTarget, TargetPage


def targets_router(manage: ManageTargets) -> Router:
    router = Router()

    @router.answer(LIST_TARGETS)
    async def on_list_targets(question: ListTargets) -> TargetPage:
        return await manage.list(question)

    @router.answer(SWITCH_TARGET)
    async def on_switch_target(question: SwitchTarget) -> TargetPage:
        return await manage.switch(question)

    return router
