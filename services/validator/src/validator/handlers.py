"""The handlers of the validator's messages."""

from rota_common.bus.router import Router
from rota_contracts.catalog import CHECK_RULES, VALIDATION_REQUESTED
from validator.use_cases import UseCases

SLOTS = 32
"""Verdicts waited for at once; a model takes seconds and the wait costs nothing."""


def build_handlers(use: UseCases) -> Router:
    router = Router()
    router.answer(CHECK_RULES, use.check)
    router.on(VALIDATION_REQUESTED, use.judge, slots=SLOTS, when_buried=use.judge.give_up)
    return router
