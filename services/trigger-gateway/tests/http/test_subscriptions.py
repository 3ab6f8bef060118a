"""Subscriptions to the notifications of a channel (DEC-12)."""

from collections.abc import AsyncIterator

import pytest

from .harness import ADMIN, Gateway, error_of, fields_of
from .stand_ins import DeliveryCenter

PATH = "/v1/teams/acme/subscriptions"
ADA = {"channel": "sales", "subscriber": "ada"}


@pytest.fixture
async def center(empty: Gateway) -> AsyncIterator[DeliveryCenter]:
    async with DeliveryCenter().running(empty.bus) as running:
        yield running


async def test_a_subscription_is_made_listed_and_removed(acme: Gateway, center: DeliveryCenter) -> None:
    for _ in range(2):
        made = await acme.call("POST", PATH, json=ADA)
        assert made.status_code == 201
        [one] = made.json()["subscriptions"]
        assert {name: one[name] for name in ("team_id", *ADA)} == {"team_id": "acme"} | ADA
    await acme.call("POST", PATH, json={"channel": "news/daily", "subscriber": "wei"})
    assert len((await acme.call("GET", PATH)).json()["subscriptions"]) == 2
    assert (await acme.call("GET", PATH, params={"channel": "sales"})).json() == {"subscriptions": [one]}
    for _ in range(2):
        assert (await acme.call("DELETE", PATH, params=ADA)).status_code == 204
    assert [each.channel for each in center.subscriptions] == ["news/daily"]


async def test_a_member_subscribes_its_own_name_and_an_admin_any(
    acme: Gateway, center: DeliveryCenter
) -> None:  # TG-24
    ada, nameless = await acme.make_key("member", "ada"), await acme.make_key("member")
    viewer, admin = await acme.make_key("viewer", "ada"), await acme.make_key("admin")
    for key in (nameless, viewer):
        assert error_of(await acme.call("POST", PATH, key=key, json=ADA)) == (403, "role_too_low")
    for key in (ada, admin, ADMIN):
        assert (await acme.call("POST", PATH, key=key, json=ADA)).status_code == 201
    refused = await acme.call("POST", PATH, key=ada, json=ADA | {"subscriber": "wei"})
    assert error_of(refused) == (403, "role_too_low")
    assert "a subscription of wei, which isn't this key's own name, needs a key of the role admin" in refused.text
    assert error_of(await acme.call("DELETE", PATH, key=nameless, params=ADA)) == (403, "role_too_low")
    assert (await acme.call("DELETE", PATH, key=ada, params=ADA)).status_code == 204


async def test_the_delivery_centers_refusal_is_passed_on(acme: Gateway, center: DeliveryCenter) -> None:
    center.refuses = "the channel sales has 1000 subscribers: that is the most"
    answer = await acme.call("POST", PATH, json=ADA)
    assert error_of(answer) == (409, "subscription_refused")
    assert center.refuses in answer.text


async def test_a_wrong_subscription_is_refused_with_its_fields(acme: Gateway, center: DeliveryCenter) -> None:
    wrong = {"channel": "", "subscriber": "a.b", "chanel": "x"}
    assert set(fields_of(await acme.call("POST", PATH, json=wrong))) == set(wrong)
    assert set(fields_of(await acme.call("DELETE", PATH))) == set(ADA)
    assert center.subscriptions == []


async def test_without_a_delivery_center_it_is_a_503(acme: Gateway) -> None:
    for method in ("GET", "POST"):
        assert error_of(await acme.call(method, PATH, json=ADA)) == (503, "unavailable")
