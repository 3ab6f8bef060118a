"""The handlers of the memory's messages."""

from memory.use_cases import UseCases
from rota_common.bus.router import Router
from rota_contracts.catalog import (
    FORGET,
    RECALL,
    REMEMBER,
    ROBOT_CHANGED,
    ROBOT_DELETED,
    SEARCH_SHARED,
    SHARE,
    UNSHARE,
)


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(ROBOT_CHANGED, use.robots.open_base)
    router.on(ROBOT_DELETED, use.robots.close_base)
    router.answer(REMEMBER, use.robots.remember)
    router.answer(RECALL, use.robots.recall)
    router.answer(FORGET, use.robots.forget)
    router.answer(SHARE, use.shared.share)
    router.answer(UNSHARE, use.shared.unshare)
    router.answer(SEARCH_SHARED, use.shared.search)
    return router
