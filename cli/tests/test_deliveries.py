"""`rota deliveries`: the delivery log, and replays page by page."""

import json
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command, Gateway

HOOK = {"delivery_id": "x1", "target_id": "t1", "type": "webhook", "target": "https://crm.example/in", "attempts": 9}
MAIL = {"delivery_id": "x2", "target_id": "t2", "type": "email", "target": "ada@acme.example", "attempts": 1}
FIRST: dict[str, Any] = {
    "request_id": "d1",
    "member_id": "leader",
    "execution_id": "e1",
    "created_at": "2026-03-02T09:00:00Z",
    "state": "failed",
    "summary": "A lead",
    "targets": [HOOK | {"state": "failed"}, MAIL | {"state": "delivered"}],
}
SECOND = FIRST | {"request_id": "d2", "replay_of": "d0", "state": "pending", "targets": [HOOK | {"state": "retrying"}]}
READ: dict[str, Any] = {
    "request_id": "d1",
    "accepted_at": "2026-03-02T09:00:00Z",
    "settled": True,
    "context": {"member_id": "leader", "execution_id": "e1", "trigger_type": "event", "team_id": "main"},
    "summary": "A lead",
    "targets": [
        {
            "result": HOOK | {"success": False, "error": "the receiver answered 500", "final": True},
            "attempts": [
                {
                    "at": "2026-03-02T09:00:00Z",
                    "ok": False,
                    "latency_ms": 12,
                    "error": "the receiver answered 500",
                    "details": {"status": 500, "body": "out of\n order"},
                }
            ],
        },
        {"result": MAIL | {"success": True}, "attempts": []},
    ],
}


def sent(number: int, targets: int = 1) -> dict[str, Any]:
    return {"request_id": f"r{number}", "replay_of": f"d{number}", "targets": targets, "status_url": "/x"}


class Pages:
    """A gateway that replays or retries a range in pages; it may break down after some."""

    def __init__(self, *pages: dict[str, Any], verb: str = "replay") -> None:
        self.verb = verb
        self.pages, self.bodies = list(pages), list[dict[str, Any]]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.path) == ("POST", f"{TEAM}/deliveries/{self.verb}")
        self.bodies.append(json.loads(request.content))
        if not self.pages:
            return httpx.Response(503, json={"error": {"code": "unavailable", "message": "not now"}})
        return httpx.Response(202, json=self.pages.pop(0))


def test_deliveries_are_listed_with_each_target(gateway: Gateway, command: Command) -> None:  # F5
    gateway.responses["/deliveries"] = {"deliveries": [SECOND, FIRST], "next": "cursor"}
    code, out, _ = command("deliveries", "--member", "leader", "--state", "failed", "--target", "t1", "--since", "2h")
    second, first, more = out.splitlines()[1:]
    assert code == 0
    assert second.split()[2:] == ["d2", "leader", "pending", "(replay)", "…", "webhook", HOOK["target"], "×9"]
    assert first.endswith("✗ webhook https://crm.example/in ×9, ✓ email ada@acme.example ×1")
    assert more == "next page: --after cursor"
    asked = dict(gateway.requests[0].url.params)
    assert asked.pop("since") < "9"
    assert asked == {"member_id": "leader", "state": "failed", "target_id": "t1", "limit": "50", "after": ""}
    assert json.loads(command("deliveries", "--json")[1]) == gateway.responses["/deliveries"]


def test_no_deliveries(gateway: Gateway, command: Command) -> None:
    gateway.responses["/deliveries"] = {"deliveries": [], "next": ""}
    assert command("deliveries")[:2] == (0, "No deliveries match.\n")


def test_a_delivery_is_shown_with_every_attempt_and_response(gateway: Gateway, command: Command) -> None:  # F5
    gateway.responses["/deliveries/d1"] = READ
    code, out, _ = command("deliveries", "show", "d1")
    assert (code, out.splitlines()) == (
        0,
        [
            "delivery   d1",
            "member     leader",
            "execution  e1",
            "accepted   2026-03-02 09:00:00 UTC",
            "state      settled",
            "summary    A lead",
            "✗ webhook https://crm.example/in, attempts 9: the receiver answered 500",
            "    2026-03-02 09:00:00  failed after 12 ms: the receiver answered 500, response: out of order",
            "✓ email ada@acme.example, attempts 1",
            "target t1 is webhook https://crm.example/in",
            "target t2 is email ada@acme.example",
        ],
    )
    assert json.loads(command("deliveries", "show", "d1", "--json")[1]) == READ


def test_one_delivery_is_replayed(gateway: Gateway, command: Command) -> None:
    gateway.responses["/deliveries/d1/replay"] = sent(1) | {"replay_id": "p1"}
    code, out, _ = command("deliveries", "replay", "d1", "--replay-id", "p1", "--all")
    assert (code, out) == (
        0,
        "replay p1: 1 delivery to 1 target replayed; `rota deliveries show r1` shows its state\n",
    )
    assert gateway.asked == [("/deliveries/d1/replay", {"targets": "all", "replay_id": "p1", "dry_run": False})]


def test_a_range_is_replayed_page_by_page_under_one_id(connect: Any, command: Command) -> None:  # F5
    pages = Pages({"replayed": [sent(1), sent(2, 2)], "next": "n1"}, {"replayed": [sent(3)], "next": ""})
    connect(pages)
    code, out, _ = command("deliveries", "replay", "--since", "2026-03-02T09:00:00Z", "--member", "leader")
    first, second = pages.bodies
    assert code == 0
    assert out.splitlines() == [
        f"replay {first['replay_id']}: 2 deliveries so far",
        f"replay {first['replay_id']}: 3 deliveries to 4 targets replayed; `rota deliveries` shows their state",
    ]
    assert first.pop("after") == ""
    assert second.pop("after") == "n1"
    assert first == second
    assert len(first.pop("replay_id")) == 36
    wanted = {"since": "2026-03-02T09:00:00+00:00", "member_id": "leader"}
    assert first == wanted | {"targets": "failed", "dry_run": False, "limit": 100}


def test_a_range_as_json_is_one_value(connect: Any, command: Command) -> None:
    connect(Pages({"replayed": [sent(1)], "next": "n1"}, {"replayed": [sent(2)], "next": ""}))
    out = command("deliveries", "replay", "--target", "t1", "--replay-id", "p1", "--json")[1]
    printed = {"replay_id": "p1", "dry_run": False, "replayed": [sent(1), sent(2)], "deliveries": 2, "targets": 2}
    assert json.loads(out) == printed


def test_an_interrupted_replay_names_the_id_to_continue_with(connect: Any, command: Command) -> None:
    connect(Pages({"replayed": [sent(1)], "next": "n1"}))
    code, _, err = command("deliveries", "replay", "--since", "1h", "--replay-id", "p1")
    assert code == 1
    assert "replayed before the error: 1" in err
    assert "--replay-id p1: nothing is sent twice" in err


@pytest.mark.parametrize(("words", "more"), [((), "--all includes the others"), (("--all",), "nothing to replay\n")])
def test_nothing_to_replay(connect: Any, command: Command, words: tuple[str, ...], more: str) -> None:
    connect(Pages({"replayed": [], "next": ""}))
    code, out, _ = command("deliveries", "replay", "--member", "leader", *words)
    assert code == 0
    assert more in out


def test_a_dry_run_shows_what_would_be_sent(gateway: Gateway, connect: Any, command: Command) -> None:
    gateway.responses["/deliveries/d1/replay"] = sent(1, 2) | {"replay_id": "p1", "status_url": None}
    out = command("deliveries", "replay", "d1", "--dry-run")[1].splitlines()
    assert out[1].split() == ["d1", "2"]
    assert out[2] == "1 delivery to 2 targets would be replayed; nothing was sent"
    assert gateway.asked[0][1]["dry_run"] is True
    connect(pages := Pages({"replayed": [sent(1)], "next": "n1"}, {"replayed": [sent(2)], "next": ""}))
    out = command("deliveries", "replay", "--since", "1h", "--dry-run")[1].splitlines()
    assert out[0] == "dry run: 1 delivery so far"
    assert out[-1] == "2 deliveries to 2 targets would be replayed; nothing was sent"
    assert [body["dry_run"] for body in pages.bodies] == [True, True]


def test_what_is_pending_is_retried_now(gateway: Gateway, connect: Any, command: Command) -> None:  # F5
    gateway.responses["/deliveries/d1/retry"] = {"request_id": "d1", "targets": 1}
    assert command("deliveries", "retry", "d1")[1].startswith("1 delivery is attempted within seconds")
    one, two = {"request_id": "d1", "targets": 1}, {"request_id": "d2", "targets": 2}
    connect(pages := Pages({"retried": [one], "next": "n1"}, {"retried": [two], "next": ""}, verb="retry"))
    printed = json.loads(command("deliveries", "retry", "--target", "t1", "--json")[1])
    assert printed == {"retried": [one, two], "deliveries": 2}
    assert [body["after"] for body in pages.bodies] == ["", "n1"]
    assert pages.bodies[0] == {"target_id": "t1", "limit": 100, "after": ""}
    connect(Pages({"retried": [], "next": ""}, verb="retry"))
    assert "nothing is pending" in command("deliveries", "retry", "--since", "1h")[1]
    assert command("deliveries", "retry")[0] == 2
