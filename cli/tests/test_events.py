"""`rota events`: what came in, and what became of it."""

import json

from cli.tests.harness import Command, Gateway

RUN = {"member_id": "ann", "execution_id": "e1", "trigger_id": "t1"}
TAKEN = {
    "status": "accepted",
    "at": "2026-03-02T09:00:00Z",
    "count": 1,
    "last_at": "2026-03-02T09:00:00Z",
    "event_id": "evt-1",
    "type": "lead.created",
    "triggers": [RUN],
    "reason": None,
    "cause": None,
}
REFUSED = TAKEN | {
    "status": "refused",
    "count": 7,
    "last_at": "2026-03-02T09:05:00Z",
    "triggers": [],
    "reason": "bad_signature",
    "cause": "no_match: no signature is right",
}


def log(gateway: Gateway) -> None:
    gateway.responses["/sources"] = {
        "sources": [{"name": "leads"}, {"name": "issues"}, {"name": "crm", "type": "database"}]
    }
    gateway.responses["/sources/leads/log"] = {"lines": [TAKEN]}
    gateway.responses["/sources/issues/log"] = {"lines": [REFUSED]}


def test_what_came_in_is_listed_newest_first_with_what_became_of_it(gateway: Gateway, command: Command) -> None:
    log(gateway)
    code, out, _ = command("events", "--json")
    assert (code, [(line["source"], line["status"]) for line in json.loads(out)]) == (
        0,
        [("issues", "refused"), ("leads", "accepted")],
    )
    printed = command("events")[1]
    assert "ann e1" in printed
    assert "bad_signature no_match" in printed
    only = json.loads(command("events", "--refused", "--source", "leads", "--json")[1])
    assert only == []


def test_an_event_is_shown_with_its_runs(gateway: Gateway, command: Command) -> None:
    gateway.responses["/events/leads/evt/1"] = TAKEN | {
        "source": "leads",
        "received_at": TAKEN["at"],
        "repeats": 2,
        "triggers": [RUN | {"state": "rejected"}],
    }
    code, out, _ = command("events", "show", "leads", "evt/1")
    assert (code, "again 2 times" in out, "ann: rejected, execution e1" in out) == (0, True, True)
    assert gateway.requests[-1].url.raw_path.endswith(b"/events/leads/evt%2F1")
