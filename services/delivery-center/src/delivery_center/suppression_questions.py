"""The questions about the list of addresses that get no mail."""

from delivery_center.suppressions import ManageSuppressions
from rota_common.router import Router
from rota_contracts.catalog import LIST_SUPPRESSIONS, SUPPRESS, UNSUPPRESS
from rota_contracts.targets import ListSuppressions, Suppress, SuppressionsListed, Unsuppress


def suppressions_router(manage: ManageSuppressions) -> Router:
    router = Router()

    @router.answer(SUPPRESS)
    async def on_suppress(question: Suppress) -> SuppressionsListed:
        return await manage.add(question)

    @router.answer(UNSUPPRESS)
    async def on_unsuppress(question: Unsuppress) -> SuppressionsListed:
        return await manage.remove(question)

    @router.answer(LIST_SUPPRESSIONS)
    async def on_list_suppressions(question: ListSuppressions) -> SuppressionsListed:
        return await manage.list(question)

    return router
