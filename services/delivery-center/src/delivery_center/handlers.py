"""The channels this service listens to, and the questions it answers."""

from collections.abc import Awaitable, Callable

from delivery_center.attempts.deliver import Deliver
from delivery_center.attempts.paused_executions import REMEMBERED, PausedExecutions
from delivery_center.attempts.stop_retries import StopRetries
from delivery_center.domain.facts import refused
from delivery_center.manage_subscriptions import ManageSubscriptions
from rota_common.bus.live import LiveEvents
from rota_common.bus.publishing import Publish
from rota_common.bus.router import Router
from rota_contracts.catalog import (
    CONTROL_GIVEN,
    DELIVERY_ACCEPTED,
    DELIVERY_REQUESTED,
    LIST_SUBSCRIPTIONS,
    ROBOT_DELETED,
    SUBSCRIBE,
    UNSUBSCRIBE,
)
from rota_contracts.envelope import Event
from rota_contracts.messages.delivery import DeliveryRequestedV1
from rota_contracts.messages.notification import ListSubscriptions, Subscribe, SubscriptionPage, Unsubscribe
from rota_contracts.messages.robot_facts import RobotDeletedV1

SLOTS = 64
"""Handlers wait for receivers most of their time: a few slow receivers must not hold up the rest."""


def build_router(
    deliver: Deliver,
    stop_retries: StopRetries,
    subscriptions: ManageSubscriptions,
    publish: Publish,
) -> Router:
    router = Router()
    _subscriptions(router, subscriptions)

    async def refuse(event: Event[DeliveryRequestedV1], reason: str) -> None:
        answer = refused(event.data, reason)
        await publish(DELIVERY_ACCEPTED, answer, caused_by=event.data.request_id, trace=event.traceparent)

    @router.consume(DELIVERY_REQUESTED, slots=SLOTS, when_buried=refuse)
    async def on_delivery_requested(event: Event[DeliveryRequestedV1]) -> None:
        await deliver(event.data, at=event.time, trace=event.traceparent)

    @router.consume(ROBOT_DELETED)
    async def on_robot_deleted(event: Event[RobotDeletedV1]) -> None:
        await stop_retries(event.data.team_id, event.data.member_id)

    return router


def _subscriptions(router: Router, subscriptions: ManageSubscriptions) -> None:
    """Questions about who wants notifications."""

    @router.answer(SUBSCRIBE)
    async def on_subscribe(question: Subscribe) -> SubscriptionPage:
        return await subscriptions.add(question)

    @router.answer(UNSUBSCRIBE)
    async def on_unsubscribe(question: Unsubscribe) -> SubscriptionPage:
        return await subscriptions.remove(question)

    @router.answer(LIST_SUBSCRIPTIONS)
    async def on_list_subscriptions(question: ListSubscriptions) -> SubscriptionPage:
        return await subscriptions.list(question)


def hearing(watch: LiveEvents, paused: PausedExecutions) -> Callable[[], Awaitable[None]]:
    """Remember what the executors say to all: each replica hears every word, whoever has the delivery in hand."""

    async def loop() -> None:
        async with watch.listen((CONTROL_GIVEN,), limit=REMEMBERED) as heard:
            while True:
                paused.hear((await heard.next()).data)

    return loop
