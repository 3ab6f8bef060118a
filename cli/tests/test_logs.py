"""`rota logs`: what happened in a run, in order, and until it ends."""

import json
from typing import Any

import httpx
import pytest
from cli.tests.harness import TEAM, Command
from cli.tests.test_report import AT, BARE, RESULT, at

DONE = {
    "phases": [
        {"phase": "goals", "started_at": at(0), "finished_at": at(2)},
        {"phase": "run", "started_at": at(2), "finished_at": at(6)},
    ],
    "results": [RESULT],
    "interventions": [{"intervention_id": "i", "action": "goal.add", "text": "Ask", "at": at(4), "effect": "Goal 3"}],
}
DELIVERY: dict[str, Any] = {
    "request_id": "d1",
    "targets": [
        {
            "result": {"delivery_id": "x", "type": "email", "target": "ana@acme.example", "success": False},
            "attempts": [{"at": at(7), "ok": False, "latency_ms": 1, "error": "no mail\nserver"}],
        }
    ],
}
SHOWN = """
2026-03-02 09:00:00               ● requested by human, robot leader
2026-03-02 09:00:00  goals        ▶ begins
2026-03-02 09:00:02  goals        ✓ ends after 2.0 s
2026-03-02 09:00:02  run          ▶ begins
2026-03-02 09:00:02  run          ▶ task-1 begins
2026-03-02 09:00:03  run          · task-1 calls search_find
2026-03-02 09:00:03  run          ✓ task-1 search_find completed after 400 ms
2026-03-02 09:00:04               ☞ goal.add: Ask → Goal 3
2026-03-02 09:00:05  run          ⚖ task-1 not passed, score 0.40: no number
2026-03-02 09:00:05  run          ▶ task-1 turn 2: Name a number.
2026-03-02 09:00:06  run          ⚖ task-1 passed, score 0.90
2026-03-02 09:00:06  run          ✓ task-1 completed
2026-03-02 09:00:06  run          ✓ ends after 4.0 s
2026-03-02 09:00:07  delivery     ✗ email ana@acme.example: no mail server
2026-03-02 09:00:08               ■ completed
"""


class Gateway:
    """Returns the states of a run one after the other; an integer is the status of an error."""

    def __init__(self, *states: dict[str, Any] | int) -> None:
        self.states = list(states)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == f"{TEAM}/executions/e1/delivery":
            return httpx.Response(200, json=DELIVERY) if not self.states else httpx.Response(404, json={})
        state = self.states.pop(0)
        return httpx.Response(state, json={}) if isinstance(state, int) else httpx.Response(200, json=BARE | state)


@pytest.mark.parametrize("words", [(), ("--follow",)])
def test_the_events_of_a_run_are_shown_in_order_and_followed_until_it_ends(  # TG-21
    connect: Any, command: Command, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota.commands.logs.POLL_S", 0)
    over = DONE | {"status": "completed", "finished_at": at(8)}
    begun = {"phases": [{"phase": "goals", "started_at": at(0)}]}
    connect(Gateway(*((begun, 503, begun) if words else ()), over))
    code, out, _ = command("logs", "e1", *words)
    assert (code, out) == (0, SHOWN.lstrip())


def test_a_run_that_goes_on_is_shown_so_far_as_json(connect: Any, command: Command) -> None:
    connect(Gateway({"question": {"question": "Which?", "asked_at": at(1)}}, 500))
    lines = [json.loads(line) for line in command("logs", "e1", "--json")[1].splitlines()]
    assert lines[1] == {"at": str(AT.replace(second=1)), "phase": "", "text": "? asks a person: Which?"}
