"""Delivery targets and suppressed addresses over HTTP."""

from collections.abc import AsyncIterator

import pytest

from rota_contracts.messages.targets import ListSuppressions, Suppress, SwitchTarget, Unsuppress

from .delivery_log import HOOK, DeliveryLog
from .harness import ADMIN, Gateway, error_of, fields_of

TARGETS, SUPPRESSIONS = "/v1/teams/acme/targets", "/v1/teams/acme/suppressions"
ADA = "ada/o'x+1@acme.example"


@pytest.fixture
async def deliveries(empty: Gateway) -> AsyncIterator[DeliveryLog]:
    async with DeliveryLog().running(empty.bus) as running:
        yield running


async def test_a_target_is_disabled_and_enabled(acme: Gateway, deliveries: DeliveryLog) -> None:
    assert (await acme.call("GET", TARGETS)).json() == {"targets": []}
    off = await acme.call("POST", f"{TARGETS}/t1/disable", json={"reason": "it moves house"})
    [one] = off.json()["targets"]
    shown = {"target_id": "t1", "target": HOOK, "condition": "disabled", "reason": "it moves house"}
    assert {name: one[name] for name in shown} == shown
    assert (await acme.call("GET", TARGETS)).json() == {"targets": [one]}
    on = await acme.call("POST", f"{TARGETS}/t1/enable")
    assert (on.status_code, on.json()) == (200, {"targets": []})
    assert deliveries.asked == [
        SwitchTarget(team_id="acme", target_id="t1", enabled=False, reason="it moves house"),
        SwitchTarget(team_id="acme", target_id="t1", enabled=True),
    ]


async def test_an_address_is_suppressed_listed_and_removed(acme: Gateway, deliveries: DeliveryLog) -> None:  # F23
    named = await acme.make_key("admin", "wei")
    made = await acme.call("POST", SUPPRESSIONS, key=named, json={"address": ADA, "reason": "has left"})
    assert made.status_code == 201
    [one] = made.json()["suppressions"]
    assert (one["address"], one["reason"], one["by"]) == (ADA, "has left", "wei")
    listed = (await acme.call("GET", SUPPRESSIONS, params={"after": "a", "limit": 1})).json()
    assert listed == {"suppressions": [one], "next": ADA}
    gone = await acme.call("DELETE", f"{SUPPRESSIONS}/{ADA}")
    assert (gone.status_code, deliveries.suppressions) == (204, [])
    assert deliveries.asked[1:] == [
        ListSuppressions(team_id="acme", after="a", limit=1),
        Unsuppress(team_id="acme", address=ADA),
    ]


async def test_a_suppression_names_its_key(acme: Gateway, deliveries: DeliveryLog) -> None:
    for key, name in ((acme.key, "a key without a name"), (ADMIN, "administrator")):
        await acme.call("POST", SUPPRESSIONS, key=key, json={"address": ADA})
        assert isinstance(last := deliveries.asked[-1], Suppress)
        assert last.by == name


async def test_only_an_admin_changes_targets_and_suppressions(acme: Gateway, deliveries: DeliveryLog) -> None:  # TG-24
    viewer, member, admin = [await acme.make_key(role) for role in ("viewer", "member", "admin")]
    for path in (TARGETS, SUPPRESSIONS):
        assert (await acme.call("GET", path, key=viewer)).status_code == 200
    for method, path, body, status in (
        ("POST", f"{TARGETS}/t1/disable", {}, 200),
        ("POST", f"{TARGETS}/t1/enable", {}, 200),
        ("POST", SUPPRESSIONS, {"address": ADA}, 201),
        ("DELETE", f"{SUPPRESSIONS}/{ADA}", None, 204),
    ):
        assert error_of(await acme.call(method, path, key=member, json=body)) == (403, "role_too_low")
        assert (await acme.call(method, path, key=admin, json=body)).status_code == status


async def test_a_refusal_shows_the_reason_of_the_delivery_center(acme: Gateway, deliveries: DeliveryLog) -> None:
    deliveries.refuses = "nothing was ever sent there"
    switched = await acme.call("POST", f"{TARGETS}/t9/disable")
    assert error_of(switched) == (404, "target_not_found")
    assert deliveries.refuses in switched.text
    suppressed = await acme.call("POST", SUPPRESSIONS, json={"address": ADA})
    assert fields_of(suppressed) == {"address": deliveries.refuses}


async def test_a_wrong_request_is_refused_with_its_fields(acme: Gateway, deliveries: DeliveryLog) -> None:
    wrong = {"address": "x", "reason": "y" * 501, "why": "z"}
    assert set(fields_of(await acme.call("POST", SUPPRESSIONS, json=wrong))) == set(wrong)
    assert list(fields_of(await acme.call("DELETE", f"{SUPPRESSIONS}/x"))) == ["address"]
    assert list(fields_of(await acme.call("GET", SUPPRESSIONS, params={"limit": 1001}))) == ["limit"]
    assert list(fields_of(await acme.call("POST", f"{TARGETS}/t1/enable", json={"because": "x"}))) == ["because"]
    assert deliveries.asked == []
