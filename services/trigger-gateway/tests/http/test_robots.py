"""Robots: made, changed and deleted by their owners, published to every other service."""

import asyncio
from typing import Any

import pytest

from rota_contracts.catalog import ROBOT_CHANGED, ROBOT_DELETED
from rota_contracts.json_values import canonical
from rota_contracts.robots.robot import Robot, RobotStatus
from trigger_gateway.problems import Invalid
from trigger_gateway.robots.record import changed

from .harness import Gateway, error_of, fields_of, robot

ROBOTS = "/v1/teams/acme/robots"
LEADER = f"{ROBOTS}/leader"


async def test_a_new_robot_is_idle_and_published(empty: Gateway) -> None:  # TG-17, TG-19
    made = await empty.make_robot()
    assert (made["team_id"], made["member_id"], made["rev"], made["robot_status"]) == ("acme", "leader", 1, "idle")
    assert (await empty.call("GET", LEADER)).json() == made
    assert empty.published() == Robot.model_validate(made)
    [fact] = empty.bus.facts(ROBOT_CHANGED)
    assert (fact.data.member_id, fact.data.rev, fact.data.created) == ("leader", 1, True)


async def test_a_robot_without_a_name_gets_one(empty: Gateway) -> None:  # TG-19
    body = {key: value for key, value in robot().items() if key != "member_id"}
    made = (await empty.call("POST", ROBOTS, json=body)).json()
    assert made["member_id"].startswith("mem_")
    assert len(made["member_id"]) == 16
    assert (await empty.call("GET", f"{ROBOTS}/{made['member_id']}")).json() == made


async def test_a_repeated_creation_with_an_idempotency_key_gets_the_same_name(empty: Gateway) -> None:
    body = {key: value for key, value in robot().items() if key != "member_id"}
    first = await empty.call("POST", ROBOTS, json=body, headers={"idempotency-key": "k1"})
    again = await empty.call("POST", ROBOTS, json=body, headers={"idempotency-key": "k1"})
    assert first.status_code == 201
    assert error_of(again) == (409, "robot_exists")
    assert first.json()["member_id"] in again.text


async def test_a_second_robot_of_the_same_name_is_refused(acme: Gateway) -> None:
    assert error_of(await acme.call("POST", ROBOTS, json=robot())) == (409, "robot_exists")
    assert len(acme.bus.facts(ROBOT_CHANGED)) == 1


async def test_a_status_is_changed_by_patch(acme: Gateway) -> None:  # TG-17, TG-18
    for rev, status in enumerate(("paused", "idle", "maintenance"), start=2):
        answer = await acme.call("PATCH", LEADER, json={"robot_status": status})
        assert (answer.status_code, answer.json()["robot_status"], answer.json()["rev"]) == (200, status, rev)
        there = acme.published()
        assert there is not None
        assert (there.rev, there.robot_status) == (rev, RobotStatus(status))
    facts = acme.bus.facts(ROBOT_CHANGED)
    assert [(fact.data.rev, fact.data.created) for fact in facts] == [(1, True), (2, False), (3, False), (4, False)]


async def test_a_patch_changes_only_what_it_names(acme: Gateway) -> None:
    before = (await acme.call("GET", LEADER)).json()
    after = (await acme.call("PATCH", LEADER, json={"display_name": "Leo", "autonomous_mode": False})).json()
    assert after == before | {"display_name": "Leo", "autonomous_mode": False, "rev": 2}


async def test_a_change_that_changes_nothing_makes_no_new_revision(acme: Gateway) -> None:
    for method, body in (("PUT", robot()), ("PATCH", {"robot_status": "idle"}), ("PATCH", {})):
        answer = await acme.call(method, LEADER, json=body)
        assert (answer.status_code, answer.json()["rev"]) == (200, 1)
    assert len(acme.bus.facts(ROBOT_CHANGED)) == 1


async def test_a_change_is_a_change_of_the_json_not_of_pythons_values(acme: Gateway) -> None:  # DEC-25
    """Python's `1 == True`; and in JSON 1 is 1.0."""
    for rev, value in ((2, 1), (3, True), (3, True), (4, 1.0), (4, 1), (5, {"a": [0]}), (6, {"a": [False]})):
        where = {"path": "amount", "op": "eq", "value": value}
        events = [{"type": "webhook", "source": "leads", "filter": {"conditions": [where]}}]
        config = robot(events=events)["robot_config"]
        answer = await acme.call("PATCH", LEADER, json={"robot_config": config})
        assert (answer.json()["rev"], value) == (rev, value)
        there = answer.json()["robot_config"]["events"][0]["filter"]["conditions"][0]["value"]
        assert canonical(there) == canonical(value)


async def test_a_definition_is_replaced_by_put_and_its_status_stays(acme: Gateway) -> None:
    await acme.call("PATCH", LEADER, json={"robot_status": "paused"})
    answer = await acme.call("PUT", LEADER, json={"robot_config": {"identity": {"role": "Greeter"}}})
    assert answer.status_code == 200
    made = answer.json()
    assert (made["display_name"], made["rev"], made["robot_status"]) == ("", 3, "paused")
    assert made["robot_config"]["identity"]["role"] == "Greeter"
    assert acme.published() == Robot.model_validate(made)
    assert error_of(await acme.call("PUT", f"{ROBOTS}/missing", json=robot("missing"))) == (404, "robot_not_found")


async def test_a_deleted_robot_is_published_as_deleted_and_not_found(acme: Gateway) -> None:  # TG-20
    assert (await acme.call("DELETE", LEADER)).status_code == 204
    for method, body in (("GET", None), ("PATCH", {}), ("PUT", robot()), ("DELETE", None)):
        assert error_of(await acme.call(method, LEADER, json=body)) == (404, "robot_not_found")
    listed = (await acme.call("GET", ROBOTS)).json()
    assert listed == {"robots": [], "states": [], "total": 0, "page": 1, "page_size": 10}
    there = acme.published()
    assert there is not None
    assert (there.deleted, there.rev) == (True, 2)
    [fact] = acme.bus.facts(ROBOT_DELETED)
    assert fact.data.rev == 2


async def test_a_deleted_name_can_be_used_again_with_the_next_revision(acme: Gateway) -> None:  # TG-20
    await acme.call("DELETE", LEADER)
    made = await acme.make_robot()
    assert made["rev"] == 3
    assert acme.published() == Robot.model_validate(made)
    assert [fact.data.created for fact in acme.bus.facts(ROBOT_CHANGED)] == [True, True]
    assert error_of(await acme.call("POST", ROBOTS, json=robot())) == (409, "robot_exists")


async def test_robots_are_listed_in_pages(empty: Gateway) -> None:
    for number in range(5):
        await empty.make_robot(f"r{number}")
    page = (await empty.call("GET", ROBOTS, params={"page": 2, "page_size": 2})).json()
    assert [each["member_id"] for each in page["robots"]] == ["r2", "r3"]
    assert (page["total"], page["page"], page["page_size"]) == (5, 2, 2)
    answer = await empty.call("GET", ROBOTS, params={"page": 0, "page_size": 101})
    assert set(fields_of(answer)) == {"page", "page_size"}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a time that isn't one": (
        robot(clock={"mode": "times", "times": ["09:00", "25:00"]}),
        "robot_config.clock.times.1",
    ),
    "no times at all": (robot(clock={"mode": "times"}), "robot_config.clock"),
    "a zone that isn't one": (robot(clock={"mode": "daemon", "tz": "Mars/Base"}), "robot_config.clock.tz"),
    "no role": (robot(identity={}), "robot_config.identity.role"),
    "a typing error": (robot(trigers={}), "robot_config.trigers"),
    "a field of ours": (robot() | {"rev": 7}, "rev"),
    "a priority out of range": (robot(quota={"priority": 11}), "robot_config.quota.priority"),
    "a name with a dot": (robot("a.b"), "member_id"),
    "an unknown action": (
        robot(triggers={"intervene": {"actions": ["dance"]}}),
        "robot_config.triggers.intervene.actions.0",
    ),
}


async def test_a_wrong_definition_is_refused_with_its_field(empty: Gateway) -> None:  # TG-19
    for name, (body, field) in WRONG.items():
        answer = await empty.call("POST", ROBOTS, json=body)
        assert error_of(answer) == (422, "invalid_robot"), name
        found = fields_of(answer)
        assert (list(found), bool(found[field])) == ([field], True), name
    assert empty.facts() == 0
    assert (await empty.call("GET", ROBOTS)).json()["total"] == 0


WRONG_CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"robot_status": "working"}, "robot_status"),
    ({"robot_status": "error"}, "robot_status"),
    ({"robot_status": ["idle"]}, "robot_status"),
    ({"display_nmae": "x"}, "display_nmae"),
    ({"member_id": "other"}, "member_id"),
    ({"robot_config": {}}, "robot_config.identity"),
    ({"deleted": True}, "deleted"),
]


async def test_a_wrong_change_is_refused_with_its_field(acme: Gateway) -> None:
    for patch, field in WRONG_CHANGES:
        assert list(fields_of(await acme.call("PATCH", LEADER, json=patch))) == [field], patch
    assert (await acme.call("GET", LEADER)).json()["rev"] == 1
    assert acme.facts() == 1


async def test_targets_that_can_never_work_are_refused_when_they_are_written(empty: Gateway) -> None:  # DC-09, DC-10
    headers = {"webhook-id": "1", "bad name": "x", "x-lines": "a\r\nb", "Host": "b", "x-fine": "$ENV.KEY"}
    webhook = {"targets": [{"url": "https://a.example"}, {"url": "https://b.example", "headers": headers}]}
    email = {"targets": [{"to": ["Ann <ann@a.example>", "no address"], "cc": ["a@b.example\nBcc: x@y.example"]}]}
    body = robot() | {"robot_email": "no address"}
    body["robot_config"]["delivery"] = {"preferences": {"webhook": webhook, "email": email}}
    refused = await empty.call("POST", ROBOTS, json=body)
    assert refused.status_code == 422
    hook, mail = (f"robot_config.delivery.preferences.{kind}.targets" for kind in ("webhook", "email"))
    assert set(fields_of(refused)) == {
        *(f"{hook}.1.headers.{name}" for name in ("webhook-id", "bad name", "x-lines", "Host")),
        f"{mail}.0.to.1",
        f"{mail}.0.cc.0",
        "robot_email",
    }
    many = {"targets": [{"url": f"https://a.example/{number}"} for number in range(101)]}
    body = robot()
    body["robot_config"]["delivery"] = {"preferences": {"webhook": many}}
    refused = await empty.call("POST", ROBOTS, json=body)
    assert set(fields_of(refused)) == {"robot_config.delivery.preferences"}
    assert "at most 100 targets in all channels together, not 101" in refused.text


async def test_a_form_of_results_that_none_can_have_is_refused_and_another_is_read_as_it_was_written(
    empty: Gateway,
) -> None:
    body, hook = robot(), {"type": "webhook", "opts": {"url": "https://a.example"}}
    for schema, reason in (
        (
            {"type": "object", "properties": {"a": {"$ref": "https://b.example"}}},
            "nothing is fetched, put it into $defs",
        ),
        ({"type": "object", "description": "x" * 20_000}, "at most 16,384 bytes"),
        ({"type": "objekt"}, "expected type: object at the top of the schema, not 'objekt'"),
    ):
        body["robot_config"]["delivery"] = hook | {"schema": schema}
        refused = await empty.call("POST", ROBOTS, json=body)
        assert (refused.status_code, set(fields_of(refused))) == (422, {"robot_config.delivery.schema"})
        assert reason in refused.text
    fine = {"type": "object", "properties": {"category": {"enum": ["bug"]}}}
    body["robot_config"]["delivery"] = hook | {"schema": fine, "include": ["tasks"]}
    made = await empty.call("POST", ROBOTS, json=body)
    read = (await empty.call("GET", f"{ROBOTS}/{made.json()['member_id']}")).json()["robot_config"]["delivery"]
    assert (read["schema"], read["include"]) == (fine, ["tasks"])
    assert read["preferences"]["webhook"]["targets"][0]["url"] == "https://a.example"


def test_a_stored_robot_with_a_target_that_is_refused_today_can_still_be_read_and_changed() -> None:
    delivery = {"type": "email", "opts": {"to": ["no address"]}}
    stored = robot() | {"team_id": "acme", "robot_email": "no address"}
    stored["robot_config"] = stored["robot_config"] | {"delivery": delivery}
    before = Robot.model_validate(stored)
    assert changed(before, {"display_name": "Leo", "robot_status": "paused"}).display_name == "Leo"
    with pytest.raises(Invalid):
        changed(before, {"robot_config": stored["robot_config"]})


async def test_a_body_that_is_no_json_object_is_refused(empty: Gateway) -> None:
    for body in (b"", b"{", b"[]", b"null", b'"x"'):
        answer = await empty.call("POST", ROBOTS, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == (400 if body == b"{" else 422), body
        assert answer.json()["error"]["code"]


async def test_a_definition_too_large_for_the_bus_is_refused(empty: Gateway) -> None:
    subscriptions = [{"type": "webhook", "source": f"s{number}"} for number in range(8000)]
    assert error_of(await empty.call("POST", ROBOTS, json=robot(events=subscriptions))) == (422, "too_large")
    assert error_of(await empty.call("POST", ROBOTS, content=b"x" * (768 * 1024 + 1))) == (413, "too_large")


async def test_changes_at_the_same_moment_are_all_made_or_refused(acme: Gateway) -> None:
    answers = await asyncio.gather(
        *(acme.call("PATCH", LEADER, json={"display_name": f"n{number}"}) for number in range(8))
    )
    done = [answer for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 409}
    assert sorted(answer.json()["rev"] for answer in done) == list(range(2, 2 + len(done)))
    there = acme.published()
    assert there is not None
    assert there.rev == 1 + len(done)
