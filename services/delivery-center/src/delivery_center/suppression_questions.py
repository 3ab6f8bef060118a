"""The questions about the list of addresses that get no mail."""

from delivery_center.manage_suppressions import ManageSuppressions
from rota_common.bus.router import Router
from rota_contracts.catalog import LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.messages.targets import ListSuppressions, Suppress, SuppressionPage, Unsuppress


def suppressions_router(manage: ManageSuppressions) -> Router:
    router = Router()

    @router.answer(SUPPRESS)
    async def on_suppress(question: Suppress) -> SuppressionPage:
        return await manage.add(question)

    @router.answer(UNSUPPRESS)
    async def on_unsuppress(question: Unsuppress) -> SuppressionPage:
        return await manage.remove(question)

    @router.answer(LIST_SUPPRESSIONS)
    async def on_list_suppressions(question: ListSuppressions) -> SuppressionPage:
        return await manage.list(question)

    return router
