"""`rota plan`: the requests and the list of planned items."""

import json

from cli.tests.harness import Command, Gateway

ITEM = {
    "plan_id": "p1",
    "team_id": "main",
    "member_id": "a",
    "messages": [{"role": "user", "content": "Ask\nAda"}],
    "state": "planned",
    "created_at": "2026-03-02T09:00:00Z",
}
DONE = {"plan_id": "p1", "state": "planned", "plan_time": "2030-01-01T08:00:00Z", "message": "planned"}
WHEN = "2030-01-01T09:00:00+01:00"


def test_planned_items_are_listed(gateway: Gateway, command: Command) -> None:  # TG-09
    gateway.responses["/plans"] = {"items": [ITEM]}
    code, out, _ = command("plan", "--member", "a")
    assert code == 0
    assert out.splitlines()[1].split() == ["p1", "a", "planned", "next", "cycle", "Ask", "Ada"]
    assert gateway.requests[0].url.params["member_id"] == "a"
    assert json.loads(command("plan", "--json")[1]) == [ITEM]
    gateway.responses["/plans"] = {"items": []}
    assert "There are no planned items" in command("plan")[1]


def test_an_item_is_planned_for_a_time(gateway: Gateway, command: Command) -> None:  # TG-09
    gateway.responses["/robots/a/intervene"] = DONE
    printed = command("plan", "add", "a", "-m", "Review", "--at", WHEN, "--dryrun")
    assert printed == (0, "plan p1: planned, due 2030-01-01 08:00:00 UTC\n", "")
    messages = [{"role": "user", "content": "Review"}]
    asked = {"action": "plan.add", "messages": messages, "plan_time": WHEN, "executor_mode": "dryrun"}
    assert gateway.asked == [("/robots/a/intervene", asked)]


def test_an_item_is_planned_for_the_next_cycle(gateway: Gateway, command: Command) -> None:  # DEC-14
    gateway.responses["/robots/a/intervene"] = DONE | {"plan_time": None}
    assert command("plan", "add", "a", "-m", "Review")[:2] == (0, "plan p1: planned\n")
    assert set(gateway.asked[0][1]) == {"action", "messages"}


def test_an_update_sends_only_the_given_fields(gateway: Gateway, command: Command) -> None:  # TG-09
    gateway.responses["/robots/a/intervene"] = DONE
    assert command("plan", "update", "a", "p1", "--at", WHEN, "--json")[0] == 0
    assert gateway.asked[0][1] == {"action": "plan.update", "plan_id": "p1", "plan_time": WHEN}


def test_an_item_is_removed(gateway: Gateway, command: Command) -> None:  # TG-09
    gateway.responses["/robots/a/intervene"] = DONE | {"state": "removed", "plan_time": None, "message": "removed"}
    assert command("plan", "remove", "a", "p1")[:2] == (0, "plan p1: removed\n")
    assert gateway.asked[0][1] == {"action": "plan.remove", "plan_id": "p1"}


def test_a_time_without_an_offset_is_that_of_the_robots_clock(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/a/intervene"] = DONE
    gateway.responses["/robots/a"] = {"robot_config": {"clock": {"mode": "daemon", "tz": "Europe/Paris"}}}
    code, out, _ = command("plan", "add", "a", "-m", "Review", "--at", "2030-01-01T09:00")
    assert (code, gateway.asked[-1][1]["plan_time"]) == (0, WHEN)
    assert out.splitlines()[1:] == ["that is 2030-01-01 09:00 Europe/Paris, by the clock of a"]
    gateway.responses["/robots/a"] = {"robot_config": {}}
    assert command("plan", "update", "a", "p1", "--at", "2030-01-01")[1].endswith(
        "2030-01-01 00:00 UTC, by the clock of a\n"
    )
    assert gateway.asked[-1][1]["plan_time"] == "2030-01-01T00:00:00+00:00"


def test_what_is_no_time_is_rejected_with_an_example(gateway: Gateway, command: Command) -> None:
    code, _, err = command("plan", "add", "a", "-m", "Review", "--at", "tomorrow")
    assert (code, gateway.asked) == (2, [])
    assert "2026-03-02T09:00:00+01:00" in err
