"""The handlers of the memory's messages."""

from memory.use_cases import UseCases
from rota_common.bus.router import Router
from rota_contracts.catalog import (
    DELETE_FILE,
    FORGET,
    FORGET_FILES,
    LIST_FILES,
    READ_FILE,
    RECALL,
    REMEMBER,
    ROBOT_CHANGED,
    ROBOT_DELETED,
    SEARCH_SHARED,
    SEED_FILES,
    SHARE,
    TEAM_REMOVED,
    UNSHARE,
    WRITE_FILE,
)


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(ROBOT_CHANGED, use.robots.open_base)
    router.on(ROBOT_DELETED, use.close)
    router.on(TEAM_REMOVED, use.remove_team)
    router.answer(REMEMBER, use.robots.remember)
    router.answer(RECALL, use.robots.recall)
    router.answer(FORGET, use.robots.forget)
    router.answer(SHARE, use.shared.share)
    router.answer(UNSHARE, use.shared.unshare)
    router.answer(SEARCH_SHARED, use.shared.search)
    router.answer(WRITE_FILE, use.files.write)
    router.answer(READ_FILE, use.files.read)
    router.answer(LIST_FILES, use.files.list)
    router.answer(DELETE_FILE, use.files.delete)
    router.answer(SEED_FILES, use.people.seed)
    router.answer(FORGET_FILES, use.people.forget)
    return router
