"""Approvals through the API: listed, read, decided, audited."""

from collections.abc import AsyncIterator

import pytest_asyncio

from rota_contracts.catalog import APPROVAL_DECIDED, APPROVAL_REQUESTED
from rota_contracts.messages.approval import ApprovalStatus, Decision
from trigger_gateway.http.stream import execution_of, shown_channels

from .approvals import OTHER_SHA, SHA, Executor, approval, requested
from .harness import ADMIN, TEAM, Gateway, error_of

APPROVALS = f"{TEAM}/approvals"
YES = {"decision": "approve", "arguments_sha256": SHA}


@pytest_asyncio.fixture
async def executor(empty: Gateway) -> AsyncIterator[Executor]:
    async with Executor().running(empty.bus) as running:
        yield running


def give(executor: Executor, *ids: str, **fields: object) -> None:
    executor.has |= {name: approval(approval_id=name, **fields) for name in ids}


async def test_the_calls_that_wait_are_listed_in_pages(empty: Gateway, executor: Executor) -> None:  # F14
    give(executor, "a1", "a2")
    give(executor, "a3", member_id="other", execution_id="e9")
    first = (await empty.call("GET", APPROVALS, params={"limit": 2})).json()
    assert [each["approval_id"] for each in first["approvals"]] == ["a1", "a2"]
    for name in ("after", "cursor"):
        rest = (await empty.call("GET", APPROVALS, params={name: first["next"]})).json()
        assert ([each["approval_id"] for each in rest["approvals"]], rest["next"]) == (["a3"], "")
    for filters in ({"member_id": "other"}, {"execution_id": "e9"}):
        found = (await empty.call("GET", APPROVALS, params=filters)).json()
        assert [each["approval_id"] for each in found["approvals"]] == ["a3"]


async def test_an_approval_is_read(empty: Gateway, executor: Executor) -> None:
    give(executor, "a1")
    read = (await empty.call("GET", f"{APPROVALS}/a1")).json()
    assert (read["tool"], read["status"], read["arguments_sha256"]) == ("crm.delete_lead", "pending", SHA)
    assert error_of(await empty.call("GET", f"{APPROVALS}/a9")) == (404, "approval_not_found")
    other = await empty.make_team("other")
    foreign = await empty.call("GET", "/v1/teams/other/approvals/a1", key=other)
    assert error_of(foreign) == (404, "approval_not_found")


async def test_an_admin_decides_about_exactly_these_arguments(empty: Gateway, executor: Executor) -> None:  # DEC-10
    give(executor, "a1", "a2")
    admin = await empty.make_key("admin", "ada")
    wrong = await empty.call("POST", f"{APPROVALS}/a1", key=admin, json=YES | {"arguments_sha256": OTHER_SHA})
    assert error_of(wrong) == (409, "not_decided")
    done = await empty.call("POST", f"{APPROVALS}/a1", key=admin, json=YES | {"decision": "always", "note": "go"})
    assert (done.status_code, done.json()["status"], done.json()["repeated"]) == (200, "approved", False)
    again = await empty.call("POST", f"{APPROVALS}/a1", key=admin, json=YES)
    assert (again.status_code, again.json()["repeated"]) == (200, True)
    late = await empty.call("POST", f"{APPROVALS}/a1", key=admin, json=YES | {"decision": "deny"})
    assert error_of(late) == (409, "not_decided")
    assert executor.has["a1"].status is ApprovalStatus.APPROVED
    assert executor.has["a2"].status is ApprovalStatus.PENDING
    taken = executor.decisions[1]
    key_id = admin.split("_")[1]
    assert (taken.team_id, taken.by, taken.decision, taken.note) == ("acme", key_id, Decision.ALWAYS, "go")


async def test_lower_roles_see_approvals_and_do_not_decide(empty: Gateway, executor: Executor) -> None:  # DEC-10
    give(executor, "a1")
    for role in ("viewer", "member"):
        key = await empty.make_key(role)
        assert (await empty.call("GET", APPROVALS, key=key)).status_code == 200
        assert error_of(await empty.call("POST", f"{APPROVALS}/a1", key=key, json=YES)) == (403, "role_too_low")
    assert executor.decisions == []


async def test_the_audit_trail_says_who_decided_what(empty: Gateway, executor: Executor) -> None:  # EX-57
    give(executor, "a1")
    await empty.call("POST", f"{APPROVALS}/a1", key=ADMIN, json=YES | {"note": "a private word"})
    await empty.call("POST", f"{APPROVALS}/a1", json=YES | {"decision": "deny"})
    trail = (await empty.call("GET", f"{TEAM}/audit")).json()["entries"]
    [entry] = [each for each in trail if each["action"] == "decide_approval"]
    assert (entry["by"], entry["member_id"], entry["status"]) == ("administrator", "leader", 200)
    named = {name: entry["on"][name] for name in ("approval_id", "execution_id", "tool", "decision")}
    assert named == {"approval_id": "a1", "execution_id": "e1", "tool": "crm.delete_lead", "decision": "approve"}
    assert "a private word" not in str(trail)


async def test_without_an_executor_nothing_is_decided(empty: Gateway) -> None:
    assert error_of(await empty.call("GET", APPROVALS)) == (503, "unavailable")
    assert error_of(await empty.call("POST", f"{APPROVALS}/a1", json=YES)) == (503, "unavailable")


async def test_a_wrong_decision_is_refused(empty: Gateway, executor: Executor) -> None:
    give(executor, "a1")
    for body in (YES | {"decision": "maybe"}, YES | {"arguments_sha256": "x"}, {"decision": "deny"}, YES | {"by": "x"}):
        assert error_of(await empty.call("POST", f"{APPROVALS}/a1", json=body)) == (422, "invalid_request")
    assert executor.decisions == []


def test_the_live_stream_shows_approvals_with_their_execution() -> None:
    assert {APPROVAL_REQUESTED, APPROVAL_DECIDED} <= set(shown_channels())
    assert execution_of(requested(approval())) == "e1"
