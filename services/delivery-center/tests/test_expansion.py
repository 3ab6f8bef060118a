"""Preferences become targets."""

from typing import Any

import pytest

from delivery_center.domain.expansion import config_of, expand
from rota_contracts.model import Json
from rota_contracts.robots.preferences import DeliveryPreferences, EmailTarget, ProcessTarget, WebhookTarget


def targets(preferences: dict[str, Any], request_id: str = "r1", data: Json = None) -> Any:
    read = DeliveryPreferences.model_validate(preferences)
    return expand(read, request_id=request_id, team="acme", event_values=read.event_values(data))


EVERYTHING: dict[str, Any] = {
    "preferences": {
        "notify": {"targets": [{"channel": "sales"}]},
        "process": {"targets": [{"name": "orders.UpdateStatus", "args": ["completed"]}, {"name": "audit.Log"}]},
        "webhook": {
            "targets": [{"url": "https://a.example/x"}, {"url": "https://b.example/y", "headers": {"X-A": "1"}}]
        },
        "email": {"targets": [{"to": ["a@b.example"], "cc": ["c@b.example"]}, {"to": ["d@b.example", "e@b.example"]}]},
    }
}


def test_every_channel_has_several_targets_in_a_fixed_order() -> None:  # DC-07, DC-08
    assert [(str(made.type), made.label) for made in targets(EVERYTHING)] == [
        ("email", "a@b.example"),
        ("email", "d@b.example, e@b.example"),
        ("webhook", "https://a.example/x"),
        ("webhook", "https://b.example/y"),
        ("process", "orders.UpdateStatus"),
        ("process", "audit.Log"),
        ("notify", "sales"),
    ]


def test_ids_depend_on_the_request_and_the_target_alone() -> None:
    first, again, other = targets(EVERYTHING), targets(EVERYTHING), targets(EVERYTHING, "r2")
    assert [made.delivery_id for made in first] == [made.delivery_id for made in again]
    assert len({made.delivery_id for made in (*first, *other)}) == 14


def hooks(*urls: str, **more: Any) -> dict[str, str]:
    """The ids of webhooks to these addresses."""
    made = targets({"preferences": {"webhook": {"targets": [{"url": url} | more for url in urls]}}})
    return {each.config["url"]: each.delivery_id for each in made}


A, B, C = "https://a.example/x", "https://b.example/y", "https://c.example/z"


def test_a_target_keeps_its_id_when_others_are_moved_added_or_removed(subtests: pytest.Subtests) -> None:
    for now in [(B, A), (C, A, B), (A,), (B,), (C, B)]:
        with subtests.test(now=now):
            before, after = hooks(A, B), hooks(*now)
            assert {url: after[url] for url in now if url in before} == {
                url: before[url] for url in now if url in before
            }
            assert not {after[url] for url in now if url not in before} & set(before.values())


@pytest.mark.parametrize("more", [{"method": "PUT"}, {"headers": {"x-a": "1"}}, {"secret": "$ENV.HOOK"}])
def test_a_target_keeps_its_id_when_its_header_method_or_secret_changes(more: dict[str, Any]) -> None:
    assert hooks(A) == hooks(A, **more)


def test_equal_targets_are_counted() -> None:
    one, two = targets({"preferences": {"notify": {"targets": [{}, {"channel": "team"}]}}})
    (alone,) = targets({"preferences": {"notify": {"targets": [{}]}}})
    assert one.delivery_id == alone.delivery_id != two.delivery_id


def test_an_id_is_the_same_in_every_release() -> None:
    # A release that derives it otherwise would send again, under another id, what was being sent when it came.
    assert hooks(A) == {A: "ea964614-58b4-55c7-86c3-30327e2db1ba"}


def test_a_disabled_channel_has_no_targets() -> None:  # DC-12
    made = targets(
        {
            "preferences": {
                "webhook": {"enabled": False, "targets": [{"url": "https://a.example"}]},
                "email": {"enabled": True, "targets": [{"to": ["a@b.example"]}]},
            }
        }
    )
    assert [str(each.type) for each in made] == ["email"]


def test_no_preferences_make_no_targets() -> None:
    assert targets({}) == []


def test_the_short_form_makes_one_target() -> None:  # DEC-11
    (made,) = targets({"type": "webhook", "opts": {"url": "https://hooks.example/leads"}})
    assert made.label == "https://hooks.example/leads"


def test_the_owners_target_survives_being_stored() -> None:  # DC-09, DC-10, DC-11
    email, webhook, process = targets(
        {
            "preferences": {
                "email": {
                    "targets": [
                        {"to": ["a@b.example"], "cc": ["c@b.example"], "subject_template": "S", "template": "t"}
                    ]
                },
                "webhook": {"targets": [{"url": "https://a.example", "method": "PUT", "secret": "$ENV.HOOK"}]},
                "process": {"targets": [{"name": "a.b", "args": [{"deep": [1, None]}]}]},
            }
        }
    )
    assert config_of(email) == EmailTarget(to=["a@b.example"], cc=["c@b.example"], subject="S", template="t")
    assert config_of(webhook) == WebhookTarget(url="https://a.example", method="PUT", secret="$ENV.HOOK")
    assert config_of(process) == ProcessTarget(process="a.b", args=[{"deep": [1, None]}])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pw@a.example:8443/in/x?token=secret#part", "https://a.example:8443/in/x"),
        ("http://[2001:db8::1]:80/x?y", "http://[2001:db8::1]:80/x"),
    ],
)
def test_a_url_is_shown_without_what_may_be_a_key(url: str, shown: str) -> None:  # DC-14
    (made,) = targets({"preferences": {"webhook": {"targets": [{"url": url}]}}})
    assert made.label == shown


def test_hooks_that_differ_in_their_query_alone_are_different_targets_with_one_label() -> None:
    urls = ["https://a.example/in?token=one", "https://a.example/in?token=two", "https://a.example/in"]
    made = targets({"preferences": {"webhook": {"targets": [{"url": url} for url in urls]}}})
    assert len({each.target_id for each in made}) == 3
    assert {each.label for each in made} == {"https://a.example/in"}
    assert "token" not in "".join(each.target_id for each in made)


def test_a_long_label_is_truncated() -> None:
    long = {"url": "https://" + "sub." * 60 + "example"}
    many = {"to": [f"ann{n}@acme.example" for n in range(50)]}
    made = targets({"preferences": {"webhook": {"targets": [long]}, "email": {"targets": [many]}}})
    assert [len(each.label) for each in made] == [200, 200]


ALLOWED = {"event_address": {"field": "lead.email", "domains": ["Example.org", "*.partners.example"]}}
LEADS: list[tuple[Json, list[str], str]] = [
    ({"lead": {"email": "ann@example.org"}}, ["ann@example.org"], ""),
    ({"lead": {"email": "Ann <ann@x.partners.example>"}}, ["ann@x.partners.example"], ""),
    ({"lead": {"email": "ann@evil.example"}}, [], "got evil.example"),
    ({"lead": {"email": "ann@example.org.evil.example"}}, [], "got example.org.evil.example"),
    ({"lead": {"email": "ann@partners.example"}}, [], "got partners.example"),
    ({"lead": {"email": "ann@example.org, bob@evil.example"}}, [], "expected one address"),
    ({"lead": {"email": "ann@example.org\r\nBcc: bob@evil.example"}}, [], "expected one address"),
    ({"lead": {"email": "a" * 400 + "@example.org"}}, [], "got none"),
    ({"lead": {"email": ["ann@example.org"]}}, [], "got none"),
    ({"lead": "ann@example.org"}, [], "got none"),
    (None, [], "got none"),
]


def test_a_mail_goes_to_the_events_address_where_the_robots_owner_allows_its_domain() -> None:  # DC-25
    wrong = []
    for data, expected, problem in LEADS:
        alone, beside = (
            targets({"type": "email", "opts": {**ALLOWED, **more}}, data=data)[0]
            for more in ({}, {"to": ["boss@example.org"]})
        )
        given_up = alone.given_up or ""
        if (alone.config["to"], bool(given_up)) != (expected, bool(problem)) or problem not in given_up:
            wrong.append((data, alone.config["to"], given_up))
        if (beside.config["to"], beside.given_up) != (["boss@example.org", *expected], None):
            wrong.append((data, beside.config["to"], beside.given_up))
    assert wrong == []
