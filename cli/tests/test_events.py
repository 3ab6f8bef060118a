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


def test_the_headers_and_the_body_of_a_post_are_printed_and_nothing_that_a_terminal_obeys(
    gateway: Gateway, command: Command
) -> None:
    post = {"headers": {"user-agent": "a\x1b[2J"}, "body": '{"a": {"b": 1}}', "size": 15, "cut": False}
    shown = REFUSED | {"source": "leads", "received_at": TAKEN["at"], "repeats": 0, "request_id": "r1"}
    gateway.responses["/events/leads/r1"] = shown | {"post": post}
    code, out, _ = command("events", "show", "leads", "r1")
    assert (code, "bad_signature no_match: no signature is right, request r1" in out) == (0, True)
    assert "no robot wanted it" not in out
    assert '    user-agent: a\ufffd[2J\n  body, 15 bytes:\n    {\n      "a": {\n        "b": 1\n' in out
    assert json.loads(command("events", "show", "leads", "r1", "--json")[1])["post"] == post
    gateway.responses["/events/leads/r1"] = shown | {"post": post | {"body": "{\x1b", "cut": True}}
    assert "of which this is the beginning:\n    {\ufffd\n" in command("events", "show", "leads", "r1")[1]
    gateway.responses["/events/leads/r1"] = shown | {"post": None, "no_post": "for admins alone"}
    assert "  for admins alone\n" in command("events", "show", "leads", "r1")[1]


def test_a_refused_post_without_an_id_is_listed_by_its_request(gateway: Gateway, command: Command) -> None:
    log(gateway)
    gateway.responses["/sources/issues/log"] = {"lines": [REFUSED | {"event_id": None, "request_id": "req-7"}]}
    assert "req-7" in command("events", "--refused")[1]
