"""The quarantine over HTTP: read, released and dropped, by role and team."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rota_contracts.catalog import DECIDE_QUARANTINED, LIST_QUARANTINE, READ_QUARANTINED
from rota_contracts.messages.quarantine import (
    DecideQuarantined,
    ListQuarantine,
    Quarantined,
    QuarantinePage,
    QuarantineReply,
    ReadQuarantined,
)

from .harness import Gateway, error_of

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
QUARANTINE = "/v1/teams/acme/quarantine"
HELD = Quarantined(
    quarantine_id="q1",
    task_id="task-1",
    score=0.4,
    issues=["no figures"],
    member_id="leader",
    execution_id="e1",
    held_at=AT,
)


class Executor:
    """Holds the result q1 of the team acme."""

    def __init__(self) -> None:
        self.asked: list[ListQuarantine] = []
        self.decided: list[DecideQuarantined] = []
        self.held = HELD

    async def list(self, question: ListQuarantine) -> QuarantinePage:
        self.asked.append(question)
        return QuarantinePage(results=[self.held], next="more")

    async def read(self, question: ReadQuarantined) -> QuarantineReply:
        known = (question.team_id, question.quarantine_id) == ("acme", "q1")
        return QuarantineReply(result=self.held, output="password=abc-123-secret") if known else QuarantineReply()

    async def decide(self, question: DecideQuarantined) -> QuarantineReply:
        self.decided.append(question)
        if question.quarantine_id != "q1":
            return QuarantineReply()
        if self.held.decided_by:
            return QuarantineReply(result=self.held, refused="this result was released before")
        done: dict[str, Any] = {"status": "released", "decided_by": question.by, "note": question.note}
        self.held = Quarantined.model_validate(self.held.model_dump() | done)
        return QuarantineReply(result=self.held)


@pytest.fixture
def held(acme: Gateway) -> Executor:
    stub = Executor()
    acme.bus.answer(LIST_QUARANTINE, stub.list)
    acme.bus.answer(READ_QUARANTINED, stub.read)
    acme.bus.answer(DECIDE_QUARANTINED, stub.decide)
    return stub


async def test_the_quarantine_is_listed_and_shown(acme: Gateway, held: Executor) -> None:  # F13
    page = await acme.call("GET", f"{QUARANTINE}?member_id=leader&status=held&limit=5&after=x")
    assert (page.json()["results"][0]["quarantine_id"], page.json()["next"]) == ("q1", "more")
    (asked,) = held.asked
    assert (asked.team_id, asked.member_id, asked.status, asked.limit, asked.after) == (
        "acme",
        "leader",
        "held",
        5,
        "x",
    )
    shown = (await acme.call("GET", f"{QUARANTINE}/q1")).json()
    assert (shown["score"], shown["issues"], shown["output"]) == (0.4, ["no figures"], "password=[REDACTED]")
    unknown = await acme.call("GET", f"{QUARANTINE}/q2")
    assert error_of(unknown) == (404, "quarantined_not_found")
    assert (await acme.call("GET", "/v1/teams/globex/quarantine")).status_code == 403


async def test_a_result_is_released_by_an_admin_and_recorded(acme: Gateway, held: Executor) -> None:  # F13 TG-24
    member, admin = await acme.make_key("member"), await acme.make_key("admin", "ann")
    assert (await acme.call("POST", f"{QUARANTINE}/q1/release", key=member)).status_code == 403
    assert held.decided == []
    done = await acme.call("POST", f"{QUARANTINE}/q1/release", key=admin, json={"note": "it is right"})
    assert (done.status_code, done.json()["status"], done.json()["note"]) == (200, "released", "it is right")
    (asked,) = held.decided
    assert (asked.team_id, asked.decision, asked.note) == ("acme", "release", "it is right")
    assert asked.by == done.json()["decided_by"] != ""
    entry = (await acme.call("GET", "/v1/teams/acme/audit")).json()["entries"][0]
    assert (entry["action"], entry["by"], entry["status"]) == ("release_quarantined", asked.by, 200)
    named = {"quarantine_id": "q1", "execution_id": "e1", "member_id": "leader"}
    assert entry["on"] == named | {"fields": "note"}


async def test_a_second_decision_is_a_conflict(acme: Gateway, held: Executor) -> None:  # F13
    await acme.call("POST", f"{QUARANTINE}/q1/release")
    refused = await acme.call("POST", f"{QUARANTINE}/q1/drop")
    assert error_of(refused) == (409, "already_decided")
    unknown = await acme.call("POST", f"{QUARANTINE}/q2/drop", json={})
    assert unknown.status_code == 404
    assert (await acme.call("POST", f"{QUARANTINE}/q1/drop", json={"reason": "x"})).status_code == 422
    assert [each.decision for each in held.decided] == ["release", "drop", "drop"]
