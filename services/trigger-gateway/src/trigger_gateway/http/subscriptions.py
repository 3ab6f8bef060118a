"""Subscriptions to the notifications of a channel; the delivery-center stores them."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, Field

from rota_contracts.catalog import LIST_SUBSCRIPTIONS, SUBSCRIBE, UNSUBSCRIBE
from rota_contracts.messages.notification import (
    ListSubscriptions,
    Subscribe,
    Subscription,
    SubscriptionPage,
    Unsubscribe,
)
from rota_contracts.model import Name
from rota_contracts.roles import Role
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import Conflict
from trigger_gateway.strict import Strict
from trigger_gateway.teams.authenticate import Caller

router = team_router("subscriptions")

LIMIT = 100


class NewSubscription(Strict):
    channel: str = Field(min_length=1, max_length=LIMIT)
    subscriber: Name


class SubscriptionList(BaseModel):
    """After a change: all subscriptions of the channel."""

    subscriptions: list[Subscription]


@router.post("/subscriptions", status_code=201, summary="Subscribe to a channel; a repeat changes nothing")
async def subscribe(team: Name, body: NewSubscription, use: UseCasesDep, caller: CallerDep) -> SubscriptionList:
    """A member subscribes under the name of its key; other names require an admin."""
    _check(caller, body.subscriber)
    wanted = Subscribe(team_id=team, channel=body.channel, subscriber=body.subscriber)
    return _changed(await rpc.call(use.ask, SUBSCRIBE, wanted))


@router.get("/subscriptions", summary="List the subscriptions, to one channel or to all")
async def list_subscriptions(
    team: Name, use: UseCasesDep, channel: Annotated[str | None, Query(min_length=1, max_length=LIMIT)] = None
) -> SubscriptionList:
    answer = await rpc.call(use.ask, LIST_SUBSCRIPTIONS, ListSubscriptions(team_id=team, channel=channel))
    return SubscriptionList(subscriptions=answer.subscriptions)


@router.delete("/subscriptions", status_code=204, summary="Remove a subscription; succeeds if there is none")
async def unsubscribe(
    team: Name,
    channel: Annotated[str, Query(min_length=1, max_length=LIMIT)],
    subscriber: Name,
    use: UseCasesDep,
    caller: CallerDep,
) -> Response:
    _check(caller, subscriber)
    gone = Unsubscribe(team_id=team, channel=channel, subscriber=subscriber)
    _changed(await rpc.call(use.ask, UNSUBSCRIBE, gone))
    return Response(status_code=204)


def _changed(answer: SubscriptionPage) -> SubscriptionList:
    if answer.refused:
        raise Conflict("subscription_refused", answer.refused)
    return SubscriptionList(subscriptions=answer.subscriptions)


def _check(caller: Caller, subscriber: str) -> None:
    if subscriber != caller.name:
        caller.check(Role.ADMIN, f"a subscription of {subscriber}, which isn't this key's own name,")
