"""Permissions follow the catalog: no user has more than its part, or can act in the name of another."""

import json
from typing import Any

from rota_common.nats_admin.accounts import USERS, Accounts, render
from rota_common.nats_admin.config import new_key
from rota_common.nats_admin.permissions import Permissions, inbox, of_backup, of_feed_client, of_service, of_topology
from rota_contracts.catalog import CHANNELS, QUESTIONS, SERVICES, dead_subject
from rota_contracts.messages.agent import LONGEST_S
from rota_contracts.streams import consumers

GRANTED = {service: of_service(service) for service in SERVICES}


def accounts(*feed_clients: tuple[str, str], callers: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """The accounts of the server's configuration."""
    teams: dict[str, dict[str, str]] = {}
    for team, name in feed_clients:
        teams.setdefault(team, {})[name] = new_key()[1]
    text = render(Accounts(users={user: new_key()[1] for user in USERS}, teams=teams, callers=callers or {}))
    return dict(json.loads(text.partition("accounts: ")[2]))


def test_a_service_may_publish_the_facts_it_produces_and_no_others() -> None:
    def facts(service: str) -> set[str]:
        return {channel.pattern for channel in CHANNELS.values()} & set(GRANTED[service].publish)

    produced = {
        service: {channel.pattern for channel in CHANNELS.values() if service in channel.producers}
        for service in SERVICES
    }
    # The gateway also redrives what can be buried.
    produced["trigger-gateway"] |= {consumer.filter_subject for consumer in consumers()}
    assert {service: facts(service) for service in SERVICES} == produced


def test_a_service_asks_answers_and_buries_as_the_catalog_says() -> None:
    for service, granted in GRANTED.items():
        asked = {one.subject for one in QUESTIONS.values() if service in one.asked_by}
        answered = {one.subject for one in QUESTIONS.values() if service == one.answered_by}
        buried = {dead_subject(one.filter_subject) for one in consumers() if one.service == service}
        assert {subject for subject in granted.publish if subject.startswith("rota.v1.rpc.")} == asked, service
        assert {subject for subject in granted.subscribe if subject.startswith("rota.v1.rpc.")} == answered, service
        assert {subject for subject in granted.publish if subject.startswith("rota.v1.dead.")} == buried, service
        assert (granted.answers is not None) is bool(answered), service


def test_a_reply_may_be_as_late_as_the_longest_question_allows() -> None:
    longest = {
        service: max((one.timeout for one in QUESTIONS.values() if one.answered_by == service), default=0)
        for service in SERVICES
    }
    assert [service for service in SERVICES if (GRANTED[service].answers or 0) < longest[service]] == []
    [process] = accounts(("acme", "crm"))["TEAM_acme"]["exports"]
    assert process["response_threshold"] == f"{of_feed_client('acme', 'crm').answers}s"


def test_the_backup_reads_whole_streams_and_changes_none() -> None:
    granted = of_backup()
    written = [
        one for one in granted.publish if not one.startswith(("$JS.API.STREAM.INFO.", "$JS.API.STREAM.SNAPSHOT."))
    ]
    assert [one for one in written if not one.startswith("$JS.SNAPSHOT.ACK.")] == ["$JS.API.INFO"]
    assert granted.subscribe == (f"{inbox('backup')}.>",)


def test_a_service_reads_only_its_own_replies() -> None:
    for service, granted in GRANTED.items():
        inboxes = [subject for subject in granted.subscribe if subject.startswith("_INBOX")]
        assert inboxes == [f"{inbox(service)}.>"]
        assert not any(subject.startswith((">", "*", "_INBOX")) for subject in granted.publish), service


def test_only_definitions_are_read_through_consumers_that_a_service_makes() -> None:
    made = {
        service: [subject for subject in granted.publish if ".CONSUMER.CREATE." in subject]
        for service, granted in GRANTED.items()
    }
    followers, of_robots = ("scheduler", "executor", "delivery-center", "memory"), "KV_robots.*.$KV.robots.>"
    expected = {service: [f"$JS.API.CONSUMER.CREATE.{of_robots}"] for service in followers}
    expected["executor"].insert(0, "$JS.API.CONSUMER.CREATE.KV_definitions.*.$KV.definitions.current.>")
    assert {service: subjects for service, subjects in made.items() if subjects} == expected


def test_the_topology_user_publishes_nothing_into_the_streams() -> None:
    assert [subject for subject in of_topology().publish if not subject.startswith("$JS.API.")] == []


def test_every_permission_of_a_feed_client_names_its_team() -> None:
    granted: Permissions = of_feed_client("acme", "crm")
    assert all("acme=crm" in subject for subject in granted.publish)
    own = ("_INBOX.>", "$SRV.>")
    assert all(".acme." in subject for subject in granted.subscribe if subject not in own)


def test_the_platform_exports_to_a_team_only_what_names_it() -> None:
    both = accounts(("acme", "crm"), ("rival", "crm"))
    exports = both["ROTA"]["exports"]
    for export in exports:
        (to,) = export["accounts"]
        team = str(to).removeprefix("TEAM_")
        subject = str(export.get("stream") or export.get("service"))
        assert f".{team}." in f"{subject}." or f".{team}=" in subject
    assert len(exports) == len(both["TEAM_acme"]["imports"]) + len(both["TEAM_rival"]["imports"])


def test_only_clients_that_may_call_reach_their_teams_agents() -> None:
    made = accounts(("acme", "crm"), ("acme", "caller"), ("rival", "crm"), callers={"acme": ["caller"]})
    subject = "rota.v1.agent.acme.>"
    [export] = [each for each in made["ROTA"]["exports"] if each.get("service") == subject]
    assert export["accounts"] == ["TEAM_acme"]
    assert int(export["response_threshold"].removesuffix("s")) > LONGEST_S
    assert [each for each in made["TEAM_rival"]["imports"] if ".agent." in str(each)] == []
    may = [user["permissions"]["publish"]["allow"] for user in made["TEAM_acme"]["users"]]
    assert [[each for each in allowed if ".agent." in each] for allowed in may] == [[subject], []]
    assert (GRANTED["trigger-gateway"].answers or 0) > LONGEST_S


def test_a_team_has_no_streams_of_its_own_and_a_team_without_feed_clients_no_account() -> None:
    assert "jetstream" not in accounts(("acme", "crm"))["TEAM_acme"]
    assert set(accounts()) == {"SYS", "ROTA"}


def test_the_configuration_holds_no_secret() -> None:
    seed, public = new_key()
    text = render(Accounts(users=dict.fromkeys(USERS, public), teams={"acme": {"crm": public}}))
    assert public in text
    assert seed not in text
