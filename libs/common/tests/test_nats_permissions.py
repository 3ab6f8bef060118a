"""Permissions follow the catalog: nobody has more than its line, and nothing that would let it pass for others."""

import json
from typing import Any

import pytest

from rota_common.nats_admin.accounts import USERS, Accounts, render
from rota_common.nats_admin.config import new_key
from rota_common.nats_admin.permissions import Permissions, inbox, of_feed_client, of_service, of_topology
from rota_contracts.catalog import CHANNELS, QUESTIONS, SERVICES, dead_subject
from rota_contracts.streams import consumers

GRANTED = {service: of_service(service) for service in SERVICES}


def accounts(*subscribers: tuple[str, str]) -> dict[str, Any]:
    """The accounts that the server is told of."""
    teams: dict[str, dict[str, str]] = {}
    for team, name in subscribers:
        teams.setdefault(team, {})[name] = new_key()[1]
    text = render(Accounts(users={user: new_key()[1] for user in USERS}, teams=teams))
    return dict(json.loads(text.partition("accounts: ")[2]))


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_publish_the_facts_it_produces(service: str) -> None:
    produced = {channel.pattern for channel in CHANNELS.values() if service in channel.producers}
    assert produced <= set(GRANTED[service].publish)


@pytest.mark.parametrize("service", [service for service in SERVICES if service != "trigger-gateway"])
def test_a_service_may_publish_no_fact_of_others(service: str) -> None:
    others = {channel.pattern for channel in CHANNELS.values() if service not in channel.producers}
    assert not others & set(GRANTED[service].publish)


def test_the_gateway_may_also_send_back_what_can_be_buried_and_nothing_else() -> None:
    own = {channel.pattern for channel in CHANNELS.values() if "trigger-gateway" in channel.producers}
    facts = {channel.pattern for channel in CHANNELS.values()} & set(GRANTED["trigger-gateway"].publish)
    assert facts == own | {consumer.filter_subject for consumer in consumers()}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_asks_answers_and_buries_as_the_catalog_says(service: str) -> None:
    granted = GRANTED[service]
    asked = {one.subject for one in QUESTIONS.values() if service in one.asked_by}
    answered = {one.subject for one in QUESTIONS.values() if service == one.answered_by}
    buried = {dead_subject(one.filter_subject) for one in consumers() if one.service == service}
    assert {subject for subject in granted.publish if subject.startswith("rota.v1.rpc.")} == asked
    assert {subject for subject in granted.subscribe if subject.startswith("rota.v1.rpc.")} == answered
    assert {subject for subject in granted.publish if subject.startswith("rota.v1.dead.")} == buried
    assert (granted.answers is not None) is bool(answered)


@pytest.mark.parametrize("service", SERVICES)
def test_an_answer_may_be_as_late_as_the_longest_question_allows(service: str) -> None:
    longest = max((one.timeout for one in QUESTIONS.values() if one.answered_by == service), default=0)
    assert (GRANTED[service].answers or 0) >= longest


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reads_only_its_own_answers(service: str) -> None:
    inboxes = [subject for subject in GRANTED[service].subscribe if subject.startswith("_INBOX")]
    assert inboxes == [f"{inbox(service)}.>"]
    assert not any(subject.startswith((">", "*", "_INBOX")) for subject in GRANTED[service].publish)


@pytest.mark.parametrize("service", SERVICES)
def test_only_robots_are_read_through_consumers_that_a_service_makes(service: str) -> None:
    made = [subject for subject in GRANTED[service].publish if ".CONSUMER.CREATE." in subject]
    assert made == (["$JS.API.CONSUMER.CREATE.KV_robots.*.$KV.robots.>"] if service == "scheduler" else [])


def test_whoever_declares_the_streams_publishes_nothing_into_them() -> None:
    assert [subject for subject in of_topology().publish if not subject.startswith("$JS.API.")] == []


def test_a_subscriber_names_its_team_in_all_it_may_do() -> None:
    granted: Permissions = of_feed_client("acme", "crm")
    assert all("acme=crm" in subject for subject in granted.publish)
    own = ("_INBOX.>", "$SRV.>")
    assert all(".acme." in subject for subject in granted.subscribe if subject not in own)


def test_a_team_gets_from_the_platform_only_what_is_named_for_it() -> None:
    both = accounts(("acme", "crm"), ("rival", "crm"))
    exports = both["ROTA"]["exports"]
    for export in exports:
        (to,) = export["accounts"]
        team = str(to).removeprefix("TEAM_")
        subject = str(export.get("stream") or export.get("service"))
        assert f".{team}." in f"{subject}." or f".{team}=" in subject
    assert len(exports) == len(both["TEAM_acme"]["imports"]) + len(both["TEAM_rival"]["imports"])


def test_a_team_has_no_streams_of_its_own_and_a_team_without_subscribers_no_account() -> None:
    assert "jetstream" not in accounts(("acme", "crm"))["TEAM_acme"]
    assert set(accounts()) == {"SYS", "ROTA"}


def test_the_configuration_holds_no_secret() -> None:
    seed, public = new_key()
    text = render(Accounts(users=dict.fromkeys(USERS, public), teams={"acme": {"crm": public}}))
    assert public in text
    assert seed not in text
