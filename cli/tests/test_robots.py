"""`rota robots`: the list, the state of one, and its next runs."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from cli.tests.harness import Command, Gateway

TIMES = {"mode": "times", "times": ["09:00"], "tz": "Europe/Paris"}
STATE = {
    "team_id": "main",
    "member_id": "a",
    "status": "working",
    "active": True,
    "next_run": "2026-03-02T08:00:00Z",
    "clock": "at 09:00 every day, by the time of Europe/Paris",
    "running": 1,
    "max_running": 2,
    "running_ids": ["e1"],
    "queued": 3,
    "max_queued": 10,
}
DAEMON = {"next_run": None, "clock": "again and again"}


def robot(clock: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    config = {"identity": {"role": "Tester"}, **({"clock": clock} if clock else {}), **more}
    return {
        "member_id": "a",
        "team_id": "main",
        "display_name": "Ann",
        "robot_status": "working",
        "robot_config": config,
        "rev": 1,
    }


def row(gateway: Gateway, command: Command, one: dict[str, Any], *states: dict[str, Any]) -> str:
    gateway.responses["/robots"] = {"robots": [one], "total": 1, "states": list(states)}
    code, out, _ = command("robots")
    assert code == 0
    return " ".join(out.splitlines()[1].split())


def test_a_robot_is_listed_with_its_status_and_next_run(gateway: Gateway, command: Command) -> None:  # TG-22
    printed = row(gateway, command, robot(TIMES), STATE)
    assert printed == "a Ann working 2026-03-02 09:00 Europe/Paris 1/2 3/10 - clock, intervene"
    ((printed,),) = [json.loads(command("robots", "--json")[1])]
    assert printed == robot(TIMES) | {"state": STATE, "last_delivery": None}


def test_a_robot_whose_newest_delivery_failed_is_marked(gateway: Gateway, command: Command) -> None:
    newest = [
        {"request_id": "d3", "member_id": "b", "state": "delivered"},
        {"request_id": "d2", "member_id": "a", "state": "failed"},
        {"request_id": "d1", "member_id": "a", "state": "delivered"},
    ]
    gateway.responses["/deliveries"] = {"deliveries": newest, "next": ""}
    assert row(gateway, command, robot(TIMES), STATE).endswith("3/10 ✗ failed d2 clock, intervene")
    gateway.responses["/deliveries"] = {"deliveries": newest[2:], "next": ""}
    assert row(gateway, command, robot(TIMES), STATE).endswith("3/10 ✓ delivered clock, intervene")


def test_a_delivery_that_is_not_among_the_teams_newest_is_asked_for(
    connect: Callable[[Callable[[httpx.Request], httpx.Response]], None], command: Command
) -> None:
    old = {"request_id": "d1", "member_id": "a", "state": "failed"}
    other = {"request_id": "d9", "member_id": "b", "state": "delivered"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/robots"):
            return httpx.Response(200, json={"robots": [robot()], "total": 1, "states": []})
        found = [old] if request.url.params.get("member_id") == "a" else [other]
        return httpx.Response(200, json={"deliveries": found, "next": "more"})

    connect(answer)
    (listed,) = json.loads(command("robots", "--json")[1])
    assert listed["last_delivery"] == old


def test_without_the_scheduler_the_list_shows_the_rest(gateway: Gateway, command: Command) -> None:
    assert row(gateway, command, robot(TIMES)) == "a Ann working - - - - clock, intervene"


@pytest.mark.parametrize(
    ("changed", "next_run"),
    [
        ({}, "when it ends"),
        ({"running": 0, "queued": 0, "parked": 1}, "when it ends"),
        ({"running": 0, "queued": 0}, "-"),
        ({"running": 0, "queued": 0, "next_run": "2026-03-02T08:00:00Z"}, "2026-03-02 08:00 UTC"),
        ({"active": False}, "-"),
    ],
)
def test_the_next_run_of_a_daemon_is_when_its_run_ends(
    gateway: Gateway, command: Command, changed: dict[str, Any], next_run: str
) -> None:
    state = STATE | DAEMON | changed
    printed = row(gateway, command, robot({"mode": "daemon"}), state)
    assert printed == f"a Ann working {next_run} {state['running']}/2 {state['queued']}/10 - clock, intervene"


@pytest.mark.parametrize(
    ("config", "wakes"),
    [
        ({}, "intervene"),
        ({"triggers": {"intervene": {"enabled": False}}, "events": [{"type": "webhook", "source": "x"}]}, "event"),
        ({"clock": TIMES, "triggers": {"clock": {"enabled": False}, "event": {"enabled": False}}}, "intervene"),
    ],
)
def test_a_disabled_or_incomplete_trigger_type_is_not_listed(
    gateway: Gateway, command: Command, config: dict[str, Any], wakes: str
) -> None:
    assert row(gateway, command, robot(**config)).endswith(f"- - - - {wakes}")


def test_the_state_of_a_robot_is_shown_in_full(gateway: Gateway, command: Command) -> None:  # TG-22
    error = {"execution_id": "e0", "message": "no model", "at": "2026-03-01T08:10:00Z"}
    last = {"last_run": "2026-03-01T08:00:00Z", "last_status": "failed", "status": "error", "error": error, "parked": 1}
    gateway.responses["/robots/a"], gateway.responses["/robots/a/status"] = robot(TIMES), STATE | last
    code, out, _ = command("robots", "show", "a")
    assert (code, out.splitlines()) == (
        0,
        [
            "member    a Ann",
            "status    error",
            "error     run e0, 2026-03-01 08:10:00 UTC: no model",
            "clock     at 09:00 every day, by the time of Europe/Paris",
            "next run  2026-03-02 09:00 Europe/Paris",
            "last run  2026-03-01 08:00:00 UTC, failed",
            "running   1 of at most 2: e1",
            "queued    3 of at most 10",
            "parked    1 wait for an answer or a signal and hold no slot",
        ],
    )
    assert json.loads(command("robots", "show", "a", "--json")[1]) == STATE | last


def test_a_paused_robot_shows_that_no_run_starts(gateway: Gateway, command: Command) -> None:  # TG-18
    paused = STATE | {"status": "paused", "active": False, "next_run": None, "clock": ""}
    gateway.responses["/robots/a"], gateway.responses["/robots/a/status"] = robot(), paused
    out = command("robots", "show", "a")[1].splitlines()
    assert out[1:4] == ["status    paused, no new run starts", "next run  -", "last run  none yet"]


def test_the_next_runs_are_shown_in_the_robots_zone_and_in_utc(gateway: Gateway, command: Command) -> None:
    printed = {"member_id": "a", "clock": STATE["clock"], "upcoming": ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z"]}
    gateway.responses["/robots/a"], gateway.responses["/robots/a/next"] = robot(TIMES), printed
    code, out, _ = command("robots", "next", "a", "--count", "2")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        STATE["clock"],
        "NEXT RUNS UTC",
        "Sat 2026-03-28 09:00:00 +01:00 2026-03-28 08:00:00",
        "Sun 2026-03-29 09:00:00 +02:00 2026-03-29 07:00:00",
        "daylight saving: clocks in Europe/Paris go forward 60 minutes "
        "between Sat 2026-03-28 09:00 and Sun 2026-03-29 09:00",
    ]
    assert gateway.requests[1].url.params["count"] == "2"
    assert json.loads(command("robots", "next", "a", "--json")[1]) == printed


def test_no_run_is_due_while_none_may_start(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/a"] = robot(TIMES)
    gateway.responses["/robots/a/next"] = {"member_id": "a", "clock": STATE["clock"], "upcoming": []}
    assert command("robots", "next", "a")[1].splitlines()[1:] == ["no run is due: see `rota robots show a`"]
    gateway.responses["/robots/a"] = robot({"mode": "daemon"})
    assert command("robots", "next", "a")[1].splitlines()[1:] == []


def test_a_robot_without_a_clock_has_no_next_run(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/a"] = robot()
    gateway.responses["/robots/a/next"] = {"member_id": "a", "clock": "", "upcoming": []}
    assert command("robots", "next", "a")[:2] == (0, "a has no clock: it runs on events and interventions\n")


def test_deleting_asks_for_confirmation(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/a"] = None
    assert command("robots", "delete", "a")[0] == 1
    assert gateway.asked == []
    assert command("robots", "delete", "a", "--yes")[:2] == (0, "a: deleted\n")
    assert gateway.requests[0].method == "DELETE"
