"""What the validator listens to, and which use case each message goes to."""

from rota_common.bus.publishing import Publish
from rota_common.bus.router import Router
from rota_contracts.catalog import CHECK_RULES, VALIDATION_COMPLETED, VALIDATION_REQUESTED
from rota_contracts.envelope import Event
from rota_contracts.messages.validation import CheckRules, RulesReply, ValidationCompletedV1, ValidationRequestedV1
from validator.check_output import CheckOutput
from validator.judge_output import JudgeOutput, undecided

SLOTS = 32
"""Verdicts waited for at once; a model takes seconds and the wait costs nothing."""


def build_router(check: CheckOutput, judge: JudgeOutput, publish: Publish) -> Router:
    router = Router()

    async def say(event: Event[ValidationRequestedV1], fact: ValidationCompletedV1) -> None:
        await publish(VALIDATION_COMPLETED, fact, caused_by=fact.validation_id, trace=event.traceparent)

    async def when_buried(event: Event[ValidationRequestedV1], reason: str) -> None:
        await say(event, undecided(event.data, reason))

    @router.answer(CHECK_RULES)
    async def on_check_rules(question: CheckRules) -> RulesReply:
        return await check(question)

    @router.consume(VALIDATION_REQUESTED, slots=SLOTS, when_buried=when_buried)
    async def on_validation_requested(event: Event[ValidationRequestedV1]) -> None:
        await say(event, await judge(event.data))

    return router
