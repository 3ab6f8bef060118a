"""The facts of a delivery. The same delivery always gives the same facts, so publishing them twice is safe."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from delivery_center.domain.delivery import Delivery, Target
from rota_common.stores.blobs import json_size, text_of
from rota_contracts.catalog import (
    DELIVERY_ACCEPTED,
    DELIVERY_ATTEMPTED,
    DELIVERY_COMPLETED,
    DELIVERY_FAILED,
    DELIVERY_SETTLED,
    Channel,
)
from rota_contracts.messages.delivery import (
    ChannelResult,
    DeliveryAcceptedV1,
    DeliveryAttemptedV1,
    DeliveryCompletedV1,
    DeliveryContext,
    DeliveryFailedV1,
    DeliveryRequestedV1,
    DeliveryResult,
    DeliverySettledV1,
)
from rota_contracts.messages.delivery_log import TargetState
from rota_contracts.messages.text import Text
from rota_contracts.model import Payload

ERROR_LIMIT = 1000
BODY_LIMIT = 16 * 1024
"""Bytes of JSON: readers of the feed get a longer body from the log."""

LOG = "deliveries"
"""The bucket of references to bodies in the log."""

DETAILS_LIMIT = 64 * 1024
"""Bytes of JSON of all replies of a delivery's targets."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A payload and its channel; `step` distinguishes several of one delivery. It isn't older than `since`."""

    channel: Channel[Any]
    data: Payload
    step: str = ""
    since: datetime = field(kw_only=True)


def of_first_attempts(delivery: Delivery) -> list[Fact]:
    """Everything that follows from the first attempts; `delivery.accepted` is the last of them.

    Later attempts don't change it: a redelivered request gets the same answer.
    """
    results = _fitting([_result(target, attempts=_at_first(target)) for target in delivery.targets])
    at = delivery.accepted_at
    facts = [_attempted(delivery, target, attempts=1, since=at) for target in delivery.targets if _at_first(target)]
    facts += [_failed(delivery, result, since=at) for result in results if result.final and not result.success]
    outcome = _outcome(delivery, results)
    context = delivery.context
    owner = {"team_id": context.team_id, "member_id": context.member_id, "request_id": delivery.request_id}
    facts.append(
        Fact(
            DELIVERY_COMPLETED,
            DeliveryCompletedV1(**owner, context=context, result=_by_reference(outcome), replay_of=delivery.replay_of),
            since=at,
        )
    )
    if all(result.final for result in results):
        facts.append(_settled(delivery, results, since=at))
    known = _known_to_the_run(outcome)
    accepted = DeliveryAcceptedV1(**owner, execution_id=context.execution_id, result=known)
    return [*facts, Fact(DELIVERY_ACCEPTED, accepted, since=at)]


def of_last_changes(delivery: Delivery) -> list[Fact]:
    """What follows from the changes that haven't been published yet."""
    facts: list[Fact] = []
    unpublished = [target for target in delivery.targets if target.unpublished]
    changed_at = [target.attempts[-1].at if target.attempts else delivery.accepted_at for target in unpublished]
    for target, since in zip(unpublished, changed_at, strict=True):
        if target.given_up is None:
            facts.append(_attempted(delivery, target, attempts=len(target.attempts), since=since))
        if target.state is TargetState.FAILED:
            facts.append(_failed(delivery, result_of(target), since=since))
    if unpublished and delivery.settled:
        results = _fitting([result_of(target) for target in delivery.targets])
        facts.append(_settled(delivery, results, since=max(changed_at)))
    return facts


def rejection(request: DeliveryRequestedV1, reason: str) -> DeliveryAcceptedV1:
    """The answer to a request that couldn't be handled, so that no execution waits for ever."""
    result = DeliveryResult(request_id=request.request_id, content=request.content, success=False, error=reason)
    return DeliveryAcceptedV1(
        team_id=request.team_id,
        member_id=request.member_id,
        request_id=request.request_id,
        execution_id=request.context.execution_id,
        result=_known_to_the_run(result),
    )


def _known_to_the_run(outcome: DeliveryResult) -> DeliveryResult:
    """Without its tasks, which are the run's own."""
    return outcome.model_copy(update={"content": outcome.content.model_copy(update={"tasks": []})})


def result_of(target: Target) -> ChannelResult:
    """The result of a target so far."""
    result = _result(target, attempts=len(target.attempts))
    if target.state is TargetState.RETRYING and result.final:  # a replay before its first attempt
        return result.model_copy(update={"final": False})
    if target.given_up is None:
        return result
    return result.model_copy(update={"error": target.given_up, "final": True})


def _fitting(results: Sequence[ChannelResult]) -> Sequence[ChannelResult]:
    """The results for a fact about all targets. Where they replied more together than it holds, their replies are only
    in each `delivery.attempted`, and in the log."""
    if sum(len(to_json(result.details)) for result in results) <= DETAILS_LIMIT:
        return results
    return [result.model_copy(update={"details": None}) for result in results]


def _at_first(target: Target) -> int:
    """The attempts made when the delivery was created: one, or none if it was postponed or given up."""
    return 1 if target.attempts and target.postponed is None else 0


def _result(target: Target, *, attempts: int) -> ChannelResult:
    """After the first `attempts` attempts."""
    if attempts == 0:
        return ChannelResult(
            type=target.type,
            target=target.label,
            success=False,
            error=target.postponed or target.given_up,
            delivery_id=target.delivery_id,
            attempts=0,
            final=target.postponed is None,
            target_id=target.target_id,
        )
    attempt = target.attempts[attempts - 1]
    return ChannelResult(
        type=target.type,
        target=target.label,
        success=attempt.ok,
        recipients=attempt.recipients,
        details=attempt.details,
        error=attempt.error,
        sent_at=attempt.at if attempt.ok else None,
        delivery_id=target.delivery_id,
        attempts=attempts,
        final=attempt.final,
        target_id=target.target_id,
    )


def _outcome(delivery: Delivery, results: Sequence[ChannelResult]) -> DeliveryResult:
    failures = [f"{result.type} {result.target}: {result.error}" for result in results if not result.success]
    error = delivery.error or "; ".join(failures)[:ERROR_LIMIT] or None
    return DeliveryResult(
        request_id=delivery.request_id,
        content=delivery.content,
        results=list(results),
        success=error is None,
        error=error,
        sent_at=None if delivery.error else delivery.accepted_at,
    )


def _by_reference(outcome: DeliveryResult) -> DeliveryResult:
    """The outcome for the feed, which holds many: a long body of one takes no room from the facts of others."""
    body = outcome.content.body
    if body.inline is not None and json_size(body.inline) <= BODY_LIMIT:
        return outcome
    whole = text_of(body.inline, inline_limit=0) if body.inline is not None else body
    ref = whole.ref and whole.ref.model_copy(update={"bucket": LOG, "name": outcome.request_id})
    content = outcome.content.model_copy(update={"body": Text(ref=ref)})
    return outcome.model_copy(update={"content": content})


def _origin(delivery: Delivery) -> DeliveryContext:
    """Without what `delivery.completed` has said already: each result makes several facts."""
    return delivery.context.model_copy(update={"trigger_id": None, "event": None})


def _attempted(delivery: Delivery, target: Target, *, attempts: int, since: datetime) -> Fact:
    data = DeliveryAttemptedV1(
        team_id=delivery.context.team_id,
        member_id=delivery.context.member_id,
        request_id=delivery.request_id,
        context=_origin(delivery),
        attempt=attempts,
        result=_result(target, attempts=attempts),
        latency_ms=target.attempts[attempts - 1].latency_ms,
        replay_of=delivery.replay_of,
    )
    return Fact(DELIVERY_ATTEMPTED, data, step=f"{target.delivery_id}:{attempts}", since=since)


def _failed(delivery: Delivery, result: ChannelResult, *, since: datetime) -> Fact:
    data = DeliveryFailedV1(
        team_id=delivery.context.team_id,
        member_id=delivery.context.member_id,
        request_id=delivery.request_id,
        context=_origin(delivery),
        result=result,
        replay_of=delivery.replay_of,
    )
    return Fact(DELIVERY_FAILED, data, step=result.delivery_id, since=since)


def _settled(delivery: Delivery, results: Sequence[ChannelResult], *, since: datetime) -> Fact:
    data = DeliverySettledV1(
        team_id=delivery.context.team_id,
        member_id=delivery.context.member_id,
        request_id=delivery.request_id,
        context=_origin(delivery),
        results=list(results),
        success=delivery.error is None and all(result.success for result in results),
        replay_of=delivery.replay_of,
    )
    return Fact(DELIVERY_SETTLED, data, since=since)
