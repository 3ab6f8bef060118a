"""The handlers of the learner's messages."""

from learner.use_cases import UseCases
from rota_common.bus.router import Router
from rota_contracts.catalog import (
    CHECK_GOALS,
    FORGET_LESSONS,
    LEARNING_REQUESTED,
    LIST_LESSONS,
    ROBOT_DELETED,
    TEAM_REMOVED,
)

SLOTS = 32
"""Answers waited for at once; a model takes seconds and the wait costs nothing."""


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.on(LEARNING_REQUESTED, use.learn, slots=SLOTS, when_buried=use.learn.give_up)
    router.on(ROBOT_DELETED, use.forget_robot)
    router.on(TEAM_REMOVED, use.remove_team)
    router.answer(CHECK_GOALS, use.decide)
    router.answer(LIST_LESSONS, use.manage.page)
    router.answer(FORGET_LESSONS, use.manage.forget)
    return router
