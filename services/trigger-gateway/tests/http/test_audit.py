"""The audit trail: every change with its key, no value of a secret, and nothing changed without an entry."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import AUDIT_RECORDED
from trigger_gateway.adapters.in_memory_audit import InMemoryAuditLog
from trigger_gateway.audit.entry import AuditEntry

from .harness import ADMIN, SECRET, TEAM, Gateway, error_of, robot

AUDIT = f"{TEAM}/audit"


async def trail(of: Gateway, path: str = AUDIT, *, key: str | None = None) -> list[dict[str, Any]]:
    """All of it, page by page."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        answer = await of.call("GET", path, params={"limit": 2, "after": after}, key=key)
        assert answer.status_code == 200, answer.text
        assert len(answer.json()["entries"]) <= 2
        found += answer.json()["entries"]
        if not (after := answer.json()["next"]):
            return found


async def test_each_change_names_its_key_and_what_was_changed(empty: Gateway) -> None:
    admins = await empty.make_key("admin", "ada")
    made = robot()
    await empty.call("POST", f"{TEAM}/robots", json=made, key=admins, headers={"x-request-id": "r-17"})
    await empty.call("PATCH", f"{TEAM}/robots/leader", json={"robot_status": "paused"}, key=admins)
    await empty.call("GET", f"{TEAM}/robots", key=admins)
    await empty.call("POST", f"{TEAM}/robots", json={"display_name": "wrong"}, key=admins)  # nothing is changed
    await empty.call("DELETE", f"{TEAM}/robots/missing", key=admins)
    await empty.call("DELETE", f"{TEAM}/keys/{admins.split('_')[1]}")
    found = await trail(empty)
    assert [each["action"] for each in found] == [
        "delete_key",
        "change_robot",
        "create_robot",
        "create_key",
        "create_team",
    ]
    removal, change, creation, *_ = found
    assert (creation["by"], creation["by_name"], creation["role"]) == (admins.split("_")[1], "ada", "admin")
    assert (creation["member_id"], creation["request_id"], creation["status"]) == ("leader", "r-17", 201)
    assert change["on"] == {"member_id": "leader", "rev": "2", "fields": "robot_status"}
    assert removal["on"] == {"key_id": admins.split("_")[1]}
    assert found[-1]["by"] == "administrator"


async def test_no_secret_is_in_it(empty: Gateway) -> None:
    shown_key = await empty.make_key("viewer", "hall")
    await empty.make_source("stripe", scheme="hmac", secret="the-very-secret-words-of-this-source")
    await empty.call("PATCH", f"{TEAM}/sources/stripe", json={"new_secret": SECRET})
    generated = await empty.call("POST", f"{TEAM}/sources", json={"name": "new", "secret": {"generate": True}})
    text = json.dumps(await trail(empty)) + "".join(str(event.data) for event in empty.bus.facts(AUDIT_RECORDED))
    secrets = [
        shown_key,
        shown_key.split("_", 2)[2],
        empty.key,
        "the-very-secret-words",
        SECRET,
        *generated.json()["generated_secrets"],
    ]
    assert [each for each in secrets if each in text] == []
    assert "new_secret" in text


async def test_every_entry_becomes_one_fact(empty: Gateway) -> None:
    await empty.make_robot()
    await empty.bus.settled()
    await until_published(empty, 2)
    facts = [event.data for event in empty.bus.facts(AUDIT_RECORDED)]
    assert [(fact.action, fact.team_id, fact.member_id) for fact in facts] == [
        ("create_team", "acme", "_all_"),
        ("create_robot", "acme", "leader"),
    ]


async def until_published(of: Gateway, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(of.bus.facts(AUDIT_RECORDED)) < count:
            await asyncio.sleep(0.01)


async def test_without_an_entry_nothing_is_changed(acme: Gateway) -> None:
    log = acme.adapters.audit
    assert isinstance(log, InMemoryAuditLog)
    log.away = True
    assert error_of(await acme.call("DELETE", f"{TEAM}/robots/leader")) == (503, "unavailable")
    log.away = False
    assert (await acme.call("GET", f"{TEAM}/robots/leader")).status_code == 200


async def test_a_change_that_broke_off_is_published_as_one_whose_outcome_is_unknown(empty: Gateway) -> None:
    long_ago = datetime.now(UTC) - timedelta(hours=2)
    begun = AuditEntry(audit_id="a1", team="acme", at=long_ago, by="k1", by_name="", role="owner", action="delete_key")
    await empty.adapters.audit.begin(begun, until=long_ago + timedelta(days=400))
    await until_published(empty, 2)
    assert {(fact.data.action, fact.data.status) for fact in empty.bus.facts(AUDIT_RECORDED)} >= {("delete_key", 0)}


async def test_it_is_read_by_admins_of_the_team_and_whole_by_the_administrator(acme: Gateway) -> None:
    other = await acme.make_team("other")
    member = await acme.make_key("member")
    assert error_of(await acme.call("GET", AUDIT, key=member)) == (403, "role_too_low")
    assert error_of(await acme.call("GET", AUDIT, key=other)) == (403, "foreign_team")
    assert error_of(await acme.call("GET", "/v1/audit", key=other)) == (403, "forbidden")
    assert {each["team_id"] for each in await trail(acme)} == {"acme"}
    assert {each["team_id"] for each in await trail(acme, "/v1/audit", key=ADMIN)} == {"acme", "other"}
    for wrong in ("x", "2026-01-01~", "~a"):
        assert (await acme.call("GET", AUDIT, params={"after": wrong})).status_code == 422, wrong
