"""`rota keys` and `rota subscriptions`: the requests and the output."""

import io
import json

import pytest
from cli.tests.harness import Command, Gateway

from rota import context

KEY = {"key_id": "k1", "role": "viewer", "name": "dashboard", "created_at": "2026-03-02T09:00:00Z"}
ADA = {"channel": "sales", "subscriber": "ada", "created_at": "2026-03-02T09:00:00Z"}


def test_teams_are_listed_and_one_is_created_with_the_admin_key(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_ADMIN_KEY", "admin")
    gateway.responses["/v1/teams"] = {"teams": [{"team_id": "acme", "name": "Acme"}], "next": None}
    code, out, _ = command("teams")
    assert (code, out.splitlines()[1].split()) == (0, ["acme", "Acme"])
    gateway.responses["/v1/teams"] = {"team_id": "beta", "key_id": "k1", "api_key": "secret-1"}
    code, out, _ = command("teams", "create", "beta", "--name", "Beta", "--use")
    assert (code, out.splitlines()[1]) == (0, "secret-1")
    assert gateway.asked[-1] == ("/v1/teams", {"team_id": "beta", "name": "Beta"})
    assert context.selected({}) == "gateway"
    saved = context.load({})
    assert (saved.url, saved.team, saved.api_key, saved.admin_key) == ("http://gateway", "beta", "secret-1", "")


def test_a_team_is_removed_once_its_id_was_typed(
    gateway: Gateway, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTA_ADMIN_KEY", "admin")
    free = "2026-05-31T09:00:00Z"
    gateway.responses["/v1/teams/acme"] = {
        "team_id": "acme",
        "removed_at": "2026-03-02T09:00:00Z",
        "name_free_at": free,
    }
    for typed in ("", "other\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert command("teams", "remove", "acme")[0] == 1
    assert gateway.requests == []
    monkeypatch.setattr("sys.stdin", io.StringIO("acme\n"))
    code, out, _ = command("teams", "remove", "acme")
    assert (code, "2026-05-31 09:00:00 UTC" in out) == (0, True)
    assert json.loads(command("teams", "remove", "acme", "--yes", "--json")[1])["name_free_at"] == free
    assert [each.method for each in gateway.requests] == ["DELETE", "DELETE"]


def test_keys_are_listed_with_their_roles(gateway: Gateway, command: Command) -> None:  # TG-24
    gateway.responses["/keys"] = {"keys": [KEY]}
    code, out, _ = command("keys")
    assert (code, out.splitlines()[1].split()) == (0, ["k1", "viewer", "dashboard", "-", "2026-03-02", "09:00:00"])
    assert json.loads(command("keys", "--json")[1]) == [KEY]


def test_a_key_is_created_and_printed_on_a_line_of_its_own(gateway: Gateway, command: Command) -> None:  # TG-24
    gateway.responses["/keys"] = {"key_id": "k1", "api_key": "secret-1"}
    code, out, _ = command("keys", "create", "--role", "viewer", "--name", "dashboard")
    assert (code, out.splitlines()[1:]) == (0, ["secret-1"])
    command("keys", "create", "--role", "member", "--member", "ann")
    assert gateway.asked == [
        ("/keys", {"role": "viewer", "name": "dashboard"}),
        ("/keys", {"role": "member", "name": "", "member_id": "ann"}),
    ]


def test_deleting_a_key_asks_for_confirmation(gateway: Gateway, command: Command) -> None:
    gateway.responses["/keys/k1"] = None
    assert command("keys", "delete", "k1")[0] == 1
    assert gateway.asked == []
    assert command("keys", "delete", "k1", "--yes")[:2] == (0, "k1: deleted\n")
    assert gateway.requests[0].method == "DELETE"


def test_subscriptions_are_listed_added_and_removed(gateway: Gateway, command: Command) -> None:  # DEC-12
    gateway.responses["/subscriptions"] = {"subscriptions": [ADA]}
    code, out, _ = command("subscriptions", "--channel", "sales")
    assert (code, out.splitlines()[1].split()) == (0, ["sales", "ada", "2026-03-02", "09:00:00"])
    assert command("subscriptions", "add", "sales", "ada")[:2] == (0, "ada: subscribes to sales\n")
    assert command("subscriptions", "remove", "sales", "ada")[:2] == (0, "ada: no longer subscribes to sales\n")
    listed, added, removed = gateway.requests
    assert [each.method for each in gateway.requests] == ["GET", "POST", "DELETE"]
    assert listed.url.params["channel"] == "sales"
    assert json.loads(added.content) == {"channel": "sales", "subscriber": "ada"}
    assert dict(removed.url.params) == {"channel": "sales", "subscriber": "ada"}


def test_without_subscriptions_the_list_shows_how_to_add_one(gateway: Gateway, command: Command) -> None:
    gateway.responses["/subscriptions"] = {"subscriptions": []}
    assert "rota subscriptions add" in command("subscriptions")[1]
    assert json.loads(command("subscriptions", "--json")[1]) == []


ENTRY = {
    "audit_id": "a1",
    "team_id": "acme",
    "at": "2026-03-02T09:00:00Z",
    "by": "k1",
    "by_name": "ada",
    "role": "admin",
    "action": "change_robot",
    "on": {"rev": "3", "member_id": "leader"},
    "status": 200,
}


def test_the_audit_trail_names_who_changed_what(gateway: Gateway, command: Command) -> None:
    gateway.responses["/audit"] = {"entries": [ENTRY, ENTRY | {"status": 0}], "next": ""}
    code, out, _ = command("audit", "--limit", "5")
    rows = [line.split() for line in out.splitlines()[1:]]
    changed = ["2026-03-02", "09:00:00", "k1", "ada", "admin", "change_robot", "member_id", "leader,", "rev", "3"]
    assert (code, rows) == (0, [[*changed, "200"], [*changed, "unknown"]])
    assert dict(gateway.requests[0].url.params) == {"limit": "5", "after": ""}
    assert json.loads(command("audit", "--json")[1])[0] == ENTRY
