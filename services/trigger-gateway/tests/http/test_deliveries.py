"""The delivery log over HTTP (F5), kept by the delivery-center."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.delivery_log import ListDeliveries, ReplayDeliveries

from .delivery_log import DeliveryLog, delivery
from .harness import Gateway, error_of, fields_of

PATH = "/v1/teams/acme/deliveries"
SINCE = "2026-03-02T09:00:00Z"
BEFORE_ALL = "0001-01-01T00:00:00+14:00"


@pytest.fixture
async def deliveries(empty: Gateway) -> AsyncIterator[DeliveryLog]:
    async with DeliveryLog(deliveries=[delivery("d1"), delivery("d2")], given_up=["d1", "d2"]).running(
        empty.bus
    ) as running:
        yield running


async def test_deliveries_are_listed_by_every_filter(acme: Gateway, deliveries: DeliveryLog) -> None:
    query: dict[str, Any] = {
        "member_id": "leader",
        "execution_id": "e1",
        "target_id": "t1",
        "state": "failed",
        "since": "2026-03-02T10:00:00+01:00",
        "until": "2026-03-03T09:00:00Z",
        "limit": 7,
    }
    listed = (await acme.call("GET", PATH, params=query)).json()
    assert ([each["request_id"] for each in listed["deliveries"]], listed["next"]) == (["d1"], "d1")
    [asked] = deliveries.asked
    assert isinstance(asked, ListDeliveries)
    assert asked.since == datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    assert asked.model_dump(mode="json") == {"team_id": "acme", "after": ""} | query | {"since": SINCE}
    more = (await acme.call("GET", PATH, params=query | {"after": listed["next"]})).json()
    assert ([each["request_id"] for each in more["deliveries"]], more["next"]) == (["d2"], "")


async def test_a_wrong_query_is_refused_with_its_fields(acme: Gateway, deliveries: DeliveryLog) -> None:
    for wrong in (
        {"member_id": "a.b", "state": "fine", "limit": 201, "member": "leader", "since": "yesterday"},
        {"since": BEFORE_ALL},
        {"since": "2026-03-02T09:00:00"},
    ):
        assert set(fields_of(await acme.call("GET", PATH, params=wrong))) == set(wrong)
    backwards = await acme.call("GET", PATH, params={"since": SINCE, "until": SINCE})
    assert set(fields_of(backwards)) == {"until"}
    assert deliveries.asked == []


async def test_a_delivery_is_read_with_every_attempt(acme: Gateway, deliveries: DeliveryLog) -> None:  # DC-14
    read = await acme.call("GET", f"{PATH}/d1")
    assert DeliveryReply.model_validate(read.json()) == delivery("d1")
    assert read.json()["targets"][0]["attempts"][0] == {
        "at": "2026-03-02T09:00:00Z",
        "ok": False,
        "latency_ms": 12,
        "error": None,
        "details": {"status": 500, "body": "out of order"},
    }
    assert error_of(await acme.call("GET", f"{PATH}/d9")) == (404, "delivery_not_found")


async def test_the_body_of_a_delivery_is_read_as_it_was_written(acme: Gateway, deliveries: DeliveryLog) -> None:
    read = await acme.call("GET", f"{PATH}/d1/body")
    assert (read.status_code, read.text) == (200, "# All is well")
    assert read.headers["content-type"] == "text/markdown; charset=utf-8"
    assert (await acme.call("GET", f"{PATH}/d1")).json()["body"] is None
    assert error_of(await acme.call("GET", f"{PATH}/d9/body")) == (404, "delivery_not_found")


async def test_another_teams_deliveries_are_not_found(acme: Gateway, deliveries: DeliveryLog) -> None:  # TG-23
    other, path = await acme.make_team("other"), "/v1/teams/other/deliveries"
    assert (await acme.call("GET", path, key=other)).json() == {"deliveries": [], "next": ""}
    for method, more in (("GET", ""), ("POST", "/replay")):
        assert error_of(await acme.call(method, f"{path}/d1{more}", key=other)) == (404, "delivery_not_found")
    assert error_of(await acme.call("GET", f"{PATH}/d1", key=other)) == (403, "foreign_team")


async def test_a_delivery_is_replayed_under_the_id_of_the_request(acme: Gateway, deliveries: DeliveryLog) -> None:
    for header, body in (({"Idempotency-Key": "again-1"}, None), ({}, {"replay_id": "again-1"})):
        answer = await acme.call("POST", f"{PATH}/d1/replay", headers=header, json=body)
        assert answer.status_code == 202
        assert answer.json() == {
            "replay_id": "again-1",
            "request_id": "again-1-d1",
            "replay_of": "d1",
            "targets": 1,
            "status_url": f"{PATH}/again-1-d1",
        }
    first, second = deliveries.asked
    assert first == second == ReplayDeliveries(team_id="acme", request_id="d1", replay_id="again-1")
    every = await acme.call("POST", f"{PATH}/d1/replay", json={"targets": "all"})
    assert len(every.json()["replay_id"]) == 36
    assert isinstance(last := deliveries.asked[-1], ReplayDeliveries)
    assert last.targets == "all"


async def test_a_delivery_without_failed_targets_is_not_replayed(acme: Gateway, deliveries: DeliveryLog) -> None:
    for read, why in (
        (delivery("d3", success=True), "was reached: replay all targets"),
        (delivery("d3", final=False), "is still pending"),
        (delivery("d3"), "another replay of this delivery"),
        (delivery("d3", targets=0), "has no targets"),
    ):
        deliveries.deliveries = [read]
        answer = await acme.call("POST", f"{PATH}/d3/replay")
        assert error_of(answer) == (409, "nothing_to_replay"), why
        assert why in answer.text


async def test_a_range_is_replayed_page_by_page(acme: Gateway, deliveries: DeliveryLog) -> None:
    body = {"since": SINCE, "member_id": "leader", "target_id": "t1", "limit": 1, "replay_id": "p1"}
    first = (await acme.call("POST", f"{PATH}/replay", json=body)).json()
    assert first == {
        "replay_id": "p1",
        "replayed": [{"request_id": "p1-d1", "replay_of": "d1", "targets": 1, "status_url": f"{PATH}/p1-d1"}],
        "count": 1,
        "next": "d1",
    }
    second = (await acme.call("POST", f"{PATH}/replay", json=body | {"after": "d1"})).json()
    assert ([each["replay_of"] for each in second["replayed"]], second["next"]) == (["d2"], "")
    asked = [each.model_dump(mode="json", exclude_defaults=True) for each in deliveries.asked]
    assert asked == [body | {"team_id": "acme"}, body | {"team_id": "acme", "after": "d1"}]


async def test_a_dry_run_has_no_status_url(acme: Gateway, deliveries: DeliveryLog) -> None:
    one = await acme.call("POST", f"{PATH}/d1/replay", json={"dry_run": True})
    range_ = await acme.call("POST", f"{PATH}/replay", json={"since": SINCE, "dry_run": True})
    assert one.json()["status_url"] is None
    assert [each["status_url"] for each in range_.json()["replayed"]] == [None, None]
    assert [each.model_dump()["dry_run"] for each in deliveries.asked] == [True, True]


async def test_a_refusal_shows_the_reason_of_the_delivery_center(acme: Gateway, deliveries: DeliveryLog) -> None:
    deliveries.refuses = "the robot leader was deleted: nothing is replayed"
    for path, body in ((f"{PATH}/d1/replay", {}), (f"{PATH}/replay", {"since": SINCE})):
        answer = await acme.call("POST", path, json=body)
        assert error_of(answer) == (422, "refused")
        assert deliveries.refuses in answer.text


async def test_a_wrong_range_is_refused_with_its_field(acme: Gateway, deliveries: DeliveryLog) -> None:
    for wrong, field in (
        ({}, "since"),
        ({"targets": "all", "limit": 5}, "since"),
        ({"since": SINCE, "targets": "some"}, "targets"),
        ({"since": SINCE, "replay_id": "x" * 201}, "replay_id"),
    ):
        assert list(fields_of(await acme.call("POST", f"{PATH}/replay", json=wrong))) == [field]
    for path in ("/replay", "/d1/replay"):
        body, header = {"since": SINCE} if path == "/replay" else {}, {"Idempotency-Key": "x" * 201}
        answer = await acme.call("POST", f"{PATH}{path}", json=body, headers=header)
        assert list(fields_of(answer)) == ["Idempotency-Key"]
    assert deliveries.asked == []


async def test_a_viewer_replays_nothing(acme: Gateway, deliveries: DeliveryLog) -> None:  # TG-24
    viewer, member = await acme.make_key("viewer"), await acme.make_key("member")
    for path in (PATH, f"{PATH}/d1"):
        assert (await acme.call("GET", path, key=viewer)).status_code == 200
    for path, body in ((f"{PATH}/d1/replay", {}), (f"{PATH}/replay", {"since": SINCE})):
        assert error_of(await acme.call("POST", path, key=viewer, json=body)) == (403, "role_too_low")
        assert (await acme.call("POST", path, key=member, json=body)).status_code == 202


async def test_without_a_delivery_center_it_is_a_503(acme: Gateway) -> None:
    for method, path in (("GET", PATH), ("GET", f"{PATH}/d1"), ("POST", f"{PATH}/d1/replay")):
        answer = await acme.call(method, path)
        assert error_of(answer) == (503, "unavailable")
        assert answer.headers["retry-after"] == "2"


async def test_what_is_pending_is_retried_now(acme: Gateway, deliveries: DeliveryLog) -> None:  # F5
    deliveries.pending = ["d2", "d3"]
    one = await acme.call("POST", f"{PATH}/d2/retry")
    assert (one.status_code, one.json()) == (202, {"request_id": "d2", "targets": 1})
    assert error_of(await acme.call("POST", f"{PATH}/d1/retry")) == (409, "nothing_to_retry")
    assert error_of(await acme.call("POST", f"{PATH}/d9/retry")) == (404, "delivery_not_found")
    page = (await acme.call("POST", f"{PATH}/retry", json={"target_id": "t1", "limit": 1})).json()
    assert (page["count"], page["next"]) == (1, "d2")
    body = {"target_id": "t1", "limit": 1, "after": page["next"]}
    rest = (await acme.call("POST", f"{PATH}/retry", json=body)).json()
    assert ([each["request_id"] for each in rest["retried"]], rest["next"]) == (["d3"], "")
    assert set(fields_of(await acme.call("POST", f"{PATH}/retry", json={}))) == {"since"}
