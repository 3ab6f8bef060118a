"""Inbound events: id, type and data by each scheme, and the triggers that they become."""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from rota_contracts.ids import event_trigger_id
from rota_contracts.robots.events import EventSubscription
from trigger_gateway.problems import Malformed
from trigger_gateway.robots.record import Subscriber
from trigger_gateway.sources.source import Source, WebhookSettings
from trigger_gateway.webhooks.inbound_event import InboundEvent, read_event, triggers_of

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FORM = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}


def source(scheme: str = "standard_webhooks", **settings: Any) -> Source:
    given = {"scheme": scheme, "secrets": ["$ENV.X"], **settings}
    return Source("acme", "leads", AT, webhook=WebhookSettings.model_validate(given))


LEADS, NAMED = source(), source(event_type_field="event")
GITHUB, STRIPE, SLACK, BEARER = source("github"), source("stripe"), source("slack"), source("bearer")


def read(of: Source, body: bytes | dict[str, Any], **headers: str) -> InboundEvent:
    """`headers` with _ for -; one of Standard Webhooks or GitHub's gets its id."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"webhook-id": "evt_1", "x-github-delivery": "evt_1"} if of in (LEADS, NAMED, GITHUB) else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_event(of, given | named, raw, AT, lambda: "fresh")


def wanting(member: str, *types: str, source: str = "/webhook/leads") -> Subscriber:
    given = {"type": "webhook", "source": source, "filter": {"event_types": types}}
    return Subscriber(member, 4, (EventSubscription.model_validate(given),))


@pytest.mark.parametrize(
    ("source", "body", "event_type", "data"),
    [
        (LEADS, b'{"type":"lead.created","data":{"a":1},"timestamp":"x"}', "lead.created", {"a": 1}),
        (LEADS, b'{"type":"lead.created","a":1}', "lead.created", {"type": "lead.created", "a": 1}),
        (LEADS, b'{"type":"lead.created","data":[1]}', "lead.created", {"type": "lead.created", "data": [1]}),
        (LEADS, b'{"type":7,"data":{"a":1}}', None, {"type": 7, "data": {"a": 1}}),
        (LEADS, b'{"data":{"a":1}}', None, {"data": {"a": 1}}),
        (NAMED, b'{"event":"won","data":{"a":1}}', "won", {"event": "won", "data": {"a": 1}}),
        (NAMED, b'{"type":"won"}', None, {"type": "won"}),
        (LEADS, b"{}", None, {}),
        (STRIPE, b'{"id":"evt","type":"a.b","data":{}}', "a.b", {"id": "evt", "type": "a.b", "data": {}}),
        (SLACK, b'{"type":"event_callback","event":{"type":"message"}}', "message", None),
        (SLACK, b'{"type":"app_rate_limited"}', "app_rate_limited", None),
        (BEARER, b'{"type":"a","data":{"b":1}}', "a", {"b": 1}),
    ],
)
def test_an_events_type_and_data_are_found(
    source: Source, body: bytes, event_type: str | None, data: dict[str, Any] | None
) -> None:  # TG-11
    event = read(source, body)
    assert (event.type, event.data) == (event_type, json.loads(body) if data is None else data)


def test_githubs_type_is_in_a_header_and_in_the_action() -> None:  # TG-11
    body = {"action": "opened", "data": {"a": 1}}
    opened = read(GITHUB, body, x_github_event="issues")
    assert (opened.type, opened.data, opened.id) == ("issues.opened", body, "evt_1")
    assert read(GITHUB, {"ref": "main"}, x_github_event="push").type == "push"
    assert read(GITHUB, {"action": 1}, x_github_event="push").type == "push"
    assert read(GITHUB, body).type is None


def test_forms_of_github_and_slack_are_read() -> None:
    inside = {"type": "block_actions", "trigger_id": "13.37", "text": "a&b=ä"}
    clicked = read_event(SLACK, FORM, urlencode({"payload": json.dumps(inside)}).encode(), AT, lambda: "fresh")
    assert (clicked.id, clicked.type, clicked.data) == ("13.37", "block_actions", inside)
    fields = {"command": "/weather", "text": "", "trigger_id": "13.38"}
    command = read_event(SLACK, FORM, urlencode(fields).encode(), AT, lambda: "fresh")
    assert (command.id, command.type, command.data) == ("13.38", None, fields)
    pushed = read(GITHUB, urlencode({"payload": '{"ref": "main"}'}).encode(), **FORM, x_github_event="push")
    assert (pushed.type, pushed.data) == ("push", {"ref": "main"})
    for body in (b"payload=[1]", b"payload=%7B", b"\xff\xfe", b"a=1&" * 2000):
        with pytest.raises(Malformed):
            read_event(SLACK, FORM, body, AT, lambda: "fresh")


KEYED = source("hmac", id_field="id")


@pytest.mark.parametrize(
    ("source", "body", "headers", "event_id"),
    [
        (STRIPE, {"id": "evt_9"}, {"x-idempotency-key": "k", "webhook-id": "w"}, "evt_9"),
        (SLACK, {"event_id": "Ev1", "trigger_id": "t"}, {"x-idempotency-key": "k"}, "Ev1"),
        (SLACK, {}, {"x-idempotency-key": "k"}, "fresh"),
        (LEADS, {"id": 1}, {"webhook-id": "w", "x-idempotency-key": "k"}, "w"),
        (LEADS, {}, {"svix-id": "s"}, "s"),
        (GITHUB, {"id": 1}, {"x-github-delivery": "g", "x-idempotency-key": "k"}, "g"),
        (KEYED, {"id": 17}, {"x-idempotency-key": "k"}, "17"),
        (KEYED, {"id": ""}, {"x-idempotency-key": "k", "webhook-id": "w"}, "k"),
        (KEYED, {"id": True}, {"webhook-id": "w"}, "w"),
        (BEARER, {"id": "no"}, {}, "fresh"),
    ],
)
def test_an_events_id_is_its_senders(
    source: Source, body: dict[str, Any], headers: dict[str, str], event_id: str
) -> None:  # TG-31
    assert read_event(source, headers, json.dumps(body).encode(), AT, lambda: "fresh").id == event_id


@pytest.mark.parametrize(
    ("source", "named"), [(LEADS, "webhook-id"), (GITHUB, "X-GitHub-Delivery"), (STRIPE, "field id")]
)
def test_an_event_of_a_scheme_with_ids_must_have_one(source: Source, named: str) -> None:
    with pytest.raises(Malformed, match=named):
        read_event(source, {}, b"{}", AT, lambda: "fresh")


def test_an_id_that_is_too_long_is_refused() -> None:
    assert len(read(LEADS, {}, webhook_id="x" * 256).id) == 256
    with pytest.raises(Malformed, match="256"):
        read(LEADS, {}, webhook_id="x" * 257)


@pytest.mark.parametrize(
    ("body", "named"), [(b"[1]", "an array"), (b"null", "null"), (b"1.5", "a number"), (b"true", "true")]
)
def test_a_body_that_is_no_object_is_refused_with_its_kind(body: bytes, named: str) -> None:
    with pytest.raises(Malformed, match=named):
        read(LEADS, body)


def test_a_source_accepts_its_types_and_refuses_others_with_the_reason() -> None:
    some = source("github", event_types=["issues.*", "push"])
    taken = read_event(some, {"x-github-delivery": "1", "x-github-event": "issues"}, b'{"action":"x"}', AT, str)
    assert taken.unwanted == ""
    other = read_event(some, {"x-github-delivery": "1", "x-github-event": "ping"}, b"{}", AT, str)
    assert other.unwanted == "event type ping is not accepted here"
    assert triggers_of(other, [wanting("all")]) == []
    assert read_event(some, {"x-github-delivery": "1"}, b"{}", AT, str).unwanted == "no event type is not accepted here"


def test_a_challenge_is_answered_for_slack_alone() -> None:
    body = {"type": "url_verification", "challenge": "abc"}
    asked = read(SLACK, body)
    assert asked.challenge == "abc"
    assert triggers_of(asked, [wanting("all")]) == []
    assert read(BEARER, body).challenge is None
    assert read(SLACK, {"type": "message", "challenge": "abc"}).challenge is None
    assert read(SLACK, body | {"challenge": 5}).challenge is None


def test_each_subscribed_robot_gets_one_trigger() -> None:  # TG-12
    event = read(LEADS, b'{"type":"lead.created","data":{"a":1}}')
    twice = Subscriber("twice", 1, (*wanting("x").subscriptions, *wanting("x", "lead.created").subscriptions))
    others = [wanting("other", "lead.lost"), wanting("elsewhere", source="crm")]
    made = triggers_of(event, [wanting("all"), wanting("typed", "lead.created", "lead.lost"), twice, *others])
    assert [(each.member_id, each.robot_rev) for each in made] == [("all", 4), ("typed", 4), ("twice", 1)]
    assert [each.trigger_id for each in made] == [
        event_trigger_id("acme", "leads", "evt_1", name) for name in ("all", "typed", "twice")
    ]
    assert made[0].input.model_dump(exclude_defaults=True) == {
        "event_id": "evt_1",
        "source": "leads",
        "event_type": "lead.created",
        "data": {"a": 1},
    }


def test_globs_and_conditions_filter_events() -> None:  # TG-12
    big = {"event_types": ["lead.*"], "conditions": [{"path": "score", "op": "gt", "value": 50}]}
    given = {"type": "webhook", "source": "leads", "filter": big}
    robot = Subscriber("big", 1, (EventSubscription.model_validate(given),))
    scores = [({"type": "lead.won", "data": {"score": 80}}, 1), ({"type": "lead.won", "data": {"score": 20}}, 0)]
    for body, count in (*scores, ({"type": "deal.won", "data": {"score": 80}}, 0), ({"score": 80}, 0)):
        assert len(triggers_of(read(LEADS, body), [robot])) == count, body


def test_a_webhook_and_a_database_of_one_name_are_not_the_same() -> None:  # TG-12
    given = {"type": "database", "source": "leads", "filter": {"trigger": "insert"}}
    robot = Subscriber("db", 1, (EventSubscription.model_validate(given),))
    change = InboundEvent("acme", "leads", "82", "insert", {"document": {}}, AT, kind="database")
    assert [each.member_id for each in triggers_of(change, [robot, wanting("web")])] == ["db"]
    assert triggers_of(read(LEADS, {"type": "insert"}), [robot]) == []
