"""`rota sources`: the requests and the output."""

import io
from typing import Any

import pytest
from cli.tests.harness import Command, Gateway

LEADS: dict[str, Any] = {
    "type": "webhook",
    "name": "leads",
    "scheme": "github",
    "secrets": ["stored", "$ENV.OLD"],
    "hook_url": "/v1/hooks/main/leads",
    "event_types": ["issues.*"],
    "rate_limit": None,
}
CRM = {"type": "database", "name": "crm", "url": "$ENV.CRM_URL", "database": "crm", "collection": "leads"}


def test_sources_are_listed_without_their_secrets(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources"] = {"sources": [CRM, LEADS]}
    for words in (("sources",), ("sources", "list")):
        code, out, _ = command(*words)
        _, crm, leads = [line.split() for line in out.splitlines()]
        assert code == 0
        assert crm == ["crm", "database", "$ENV.CRM_URL", "crm.leads"]
        assert leads == ["leads", "webhook", "github", "stored,", "$ENV.OLD", "/v1/hooks/main/leads"]


def test_a_source_is_shown_with_its_settings(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources/leads"] = LEADS
    _, out, _ = command("sources", "show", "leads")
    assert "event_types: issues.*" in out.splitlines()
    assert "secrets: stored, $ENV.OLD" in out.splitlines()
    assert "rate_limit" not in out


def test_a_webhook_is_added_with_the_given_settings(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources"] = LEADS | {"generated_secrets": []}
    words = ["sources", "add", "leads", "--secret", "$ENV.A", "--secret", "$ENV.B", "--scheme", "github"]
    code, out, _ = command(*words, "--event-type", "issues.*", "--event-type", "push", "--rate-limit", "60")
    assert (code, out) == (0, "leads: added, the sender posts to http://gateway/v1/hooks/main/leads\n")
    assert gateway.asked[-1][1] == {
        "name": "leads",
        "scheme": "github",
        "secrets": ["$ENV.A", "$ENV.B"],
        "event_types": ["issues.*", "push"],
        "rate_limit": 60,
    }


def test_a_secret_that_is_not_set_is_warned_of(gateway: Gateway, command: Command) -> None:
    gateway.responses |= {"/sources": LEADS, "/secrets": {"secrets": [{"name": "SET"}]}}
    words = ("sources", "add", "leads", "--secret", "$ENV.NOT_SET", "--secret", "$SECRET.SET")
    code, _, err = command(*words)
    assert code == 0
    assert err == "the secret NOT_SET isn't set, and its events are refused: rota secrets set NOT_SET\n"


def test_a_generated_secret_is_shown(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources"] = LEADS | {"generated_secrets": ["whsec_new"]}
    _, out, _ = command("sources", "add", "leads", "--generate")
    assert out.splitlines()[1:] == ["its secret, shown only now:", "whsec_new"]
    assert gateway.asked[-1][1]["secrets"] == [{"generate": True}]


def test_a_secret_can_be_piped_in(gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway.responses["/sources"] = LEADS
    monkeypatch.setattr("sys.stdin", io.StringIO("from-a-pipe\n"))
    command("sources", "add", "leads", "--scheme", "bearer", "--secret", "-", "--signing-secret", "$ENV.B")
    asked = gateway.asked[-1][1]
    assert (asked["secrets"], asked["signing_secret"]) == (["from-a-pipe"], "$ENV.B")


def test_a_database_is_added_with_its_conditions(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources"] = CRM
    place = ("--url", "$ENV.CRM_URL", "--database", "crm", "--collection", "leads", "--operation", "insert")
    where = [
        word for text in ("document.score gt 50", "document.name eq Ada L", "a exists") for word in ("--where", text)
    ]
    code, out, _ = command("sources", "add-database", "crm", *place, *where)
    assert (code, out) == (0, "crm: added\n")
    asked = gateway.asked[-1][1]
    assert (asked["type"], asked["operations"], asked["url"]) == ("database", ["insert"], "$ENV.CRM_URL")
    assert asked["conditions"] == [
        {"path": "document.score", "op": "gt", "value": 50},
        {"path": "document.name", "op": "eq", "value": "Ada L"},
        {"path": "a", "op": "exists", "value": True},
    ]


@pytest.mark.parametrize(
    ("words", "change", "says"),
    [
        (("--secret", "$ENV.NEW"), {"new_secret": "$ENV.NEW"}, "leads: has a new secret"),
        (("--generate",), {"new_secret": {"generate": True}}, "leads: has a new secret"),
        (("--finish",), {"forget_old_secret": True}, "leads: the old secret is revoked"),
    ],
)
def test_a_secret_is_rotated_in_two_steps(
    gateway: Gateway, command: Command, words: tuple[str, ...], change: dict[str, Any], says: str
) -> None:
    gateway.responses["/sources/leads"] = LEADS
    code, out, _ = command("sources", "rotate", "leads", *words)
    assert (code, out.strip()) == (0, says)
    assert gateway.requests[-1].method == "PATCH"
    assert gateway.asked[-1][1] == change


def test_a_source_is_removed_after_confirmation(gateway: Gateway, command: Command) -> None:
    gateway.responses["/sources/leads"] = None
    assert command("sources", "remove", "leads")[0] != 0
    assert gateway.asked == []
    code, out, _ = command("sources", "remove", "leads", "--yes")
    assert (code, out, gateway.requests[-1].method) == (0, "leads: deleted\n", "DELETE")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "leads"), "expected one or two secrets, not 0"),
        (("add", "leads", "--secret", "a", "--secret", "b", "--generate"), "expected one or two secrets, not 3"),
        (("rotate", "leads"), "expected one of --secret, --generate and --finish"),
        (("rotate", "leads", "--finish", "--generate"), "expected one of"),
        (
            ("add-database", "crm", "--url", "$ENV.X", "--database", "a", "--collection", "b", "--where", "score > 50"),
            "expected a condition like 'document.score gt 50'",
        ),
    ],
)
def test_a_contradiction_is_rejected_before_any_request(
    gateway: Gateway, command: Command, words: tuple[str, ...], says: str
) -> None:
    code, _, error = command("sources", *words)
    assert code != 0
    assert says in " ".join(error.split())
    assert gateway.asked == []
