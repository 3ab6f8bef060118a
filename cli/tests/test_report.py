"""A run as text, with all that happened and its times."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota.report import report
from rota.timestamps import duration_text
from rota_contracts.messages.delivery import DeliveryReply
from rota_contracts.messages.execution import Execution

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def at(seconds: float) -> str:
    return (AT + timedelta(seconds=seconds)).isoformat()


TRIGGER = {
    "team_id": "acme",
    "member_id": "leader",
    "trigger_id": "t1",
    "type": "human",
    "input": {},
    "received_at": at(0),
}
BARE: dict[str, Any] = {
    "execution_id": "e1",
    "team_id": "acme",
    "member_id": "leader",
    "robot_rev": 3,
    "trigger": TRIGGER,
    "executor_mode": "standard",
    "status": "running",
    "phase": "run",
    "created_at": at(0),
}
USES = [
    {
        "step_id": "s1",
        "name": "search_find",
        "server": "search",
        "tool": "find",
        "arguments": {"q": "Ada"},
        "status": "completed",
        "started_at": at(3),
        "finished_at": at(3.4),
    },
    {"step_id": "s2", "name": "crm.save", "arguments": [1], "status": "failed", "error": "no such lead"},
]
REFUSED = {
    "passed": False,
    "score": 0.4,
    "issues": ["no number"],
    "need_reply": True,
    "reply_content": "Name a number.",
}
TURNS = [
    {
        "number": 1,
        "rounds": [{"text": "I look.", "uses": USES}, {"text": "It is large."}],
        "output": {"inline": "It is large."},
        "validation": REFUSED,
        "started_at": at(2),
        "finished_at": at(5),
    },
    {
        "number": 2,
        "told": "Name a number.",
        "rounds": [{"text": "42"}],
        "output": {"inline": "42"},
        "validation": {"passed": True, "score": 0.9},
        "started_at": at(5),
        "finished_at": at(6),
    },
]
RESULT = {
    "task_id": "task-1",
    "step_id": "s",
    "status": "completed",
    "output": {"inline": "42"},
    "validation": {"passed": True, "score": 0.9},
    "turns": TURNS,
    "started_at": at(2),
    "finished_at": at(6),
}
TASKS = [
    {"id": "task-1", "description": "How large?", "executor_id": "analyst"},
    {"id": "task-2", "description": "Write", "executor_id": "writer"},
]


def lines(read: DeliveryReply | None = None, **fields: Any) -> list[str]:
    return list(report(Execution.model_validate(BARE | fields), read))


def test_a_new_run_has_only_a_head() -> None:
    assert lines() == [
        "execution e1  running  (phase run, standard)",
        "robot     acme/leader, rev 3",
        "trigger   human, 2026-03-02 09:00:00",
    ]
    assert lines(trigger=TRIGGER | {"retry_of": "e0"})[-1] == "retry of  e0"


def test_an_events_run_names_the_event() -> None:
    event = {"source": "leads", "event_type": "lead.created", "event_id": "evt-1"}
    shown = [lines(trigger=TRIGGER | {"type": "event", "input": event})[-1]]
    shown.append(lines(trigger=TRIGGER | {"type": "event", "input": {"source": "leads"}})[-1])
    assert shown == ["event     lead.created of leads: evt-1", "event     of leads: without an id"]


def test_each_phase_has_its_start_and_duration() -> None:
    phases = [
        {"phase": "goals", "started_at": at(0), "finished_at": at(0.34)},
        {"phase": "tasks", "started_at": at(1), "finished_at": at(184)},
        {"phase": "run", "started_at": at(184)},
    ]
    assert lines(phases=phases)[-3:] == [
        "  goals        2026-03-02 09:00:00  340 ms",
        "  tasks        2026-03-02 09:00:01  3 min 3 s",
        "  run          2026-03-02 09:03:04  running",
    ]


def test_a_waiting_run_shows_its_question_and_how_to_answer() -> None:
    shown = lines(status="waiting", question={"question": "Which offer?", "task_id": "task-1", "asked_at": at(5)})
    assert "asks      Which offer? (task task-1, since 2026-03-02 09:00:05)" in shown
    assert 'answer    rota answer e1 "…"' in shown


def test_the_deadline_is_shown_only_while_running() -> None:
    assert "deadline  2026-03-02 09:01:00" in lines(deadline_at=at(60))
    assert not [line for line in lines(deadline_at=at(60), status="failed") if line.startswith("deadline")]


def test_interventions_are_shown_with_their_effect() -> None:
    added = {"intervention_id": "i", "action": "goal.add", "text": "Ask for Friday", "at": at(5), "effect": "Goal 3"}
    stop = {"intervention_id": "j", "action": "stop", "at": at(6)}
    assert lines(interventions=[added, stop])[-2:] == [
        "  2026-03-02 09:00:05  goal.add: Ask for Friday → Goal 3",
        "  2026-03-02 09:00:06  stop",
    ]


def test_a_task_is_shown_turn_by_turn_with_its_tools_and_verdicts() -> None:
    shown = lines(tasks=TASKS, results=[RESULT])
    assert shown[shown.index("P2 Tasks, P3 Run") + 1 :] == [
        "  task-1 [completed] How large? → assistant analyst, 4.0 s",
        "      turn 1, 3.0 s",
        "          round 1: I look.",
        '              ✓ search_find (search.find) completed, 400 ms: {"q": "Ada"}',
        "              ✗ crm.save (process) failed, not started: [1]",
        "                  error: no such lead",
        "          round 2: It is large.",
        "          verdict: not passed, score 0.40",
        "          issue: no number",
        "          reply: Name a number.",
        "      turn 2, 1.0 s: Name a number.",
        "          round 1: 42",
        "          verdict: passed, score 0.90",
        "      42",
        "  task-2 [pending] Write → assistant writer",
    ]


def test_a_verdict_without_a_turn_is_shown_with_the_task() -> None:
    shown = lines(tasks=TASKS[:1], results=[RESULT | {"turns": []}])
    assert shown[-2:] == ["      42", "      verdict: passed, score 0.90"]


FIRST = {"type": "webhook", "target": "https://x", "success": False, "delivery_id": "d", "error": "503", "final": False}
LATER = FIRST | {"success": True, "error": None, "final": True, "attempts": 2}
CONTENT = {"summary": "Done", "body": {"inline": "All of it"}}


def test_every_attempt_at_a_target_is_shown_with_its_time() -> None:
    tries = [
        {"at": at(1), "ok": False, "latency_ms": 12, "error": "503"},
        {"at": at(7), "ok": True, "latency_ms": 34},
    ]
    read = DeliveryReply.model_validate({"request_id": "d", "targets": [{"result": LATER, "attempts": tries}]})
    result = {"request_id": "d", "content": CONTENT, "results": [FIRST], "success": False}
    assert lines(read, delivery=result)[-3:] == [
        "  ✓ webhook https://x, attempts 2",
        "      2026-03-02 09:00:01  failed after 12 ms: 503",
        "      2026-03-02 09:00:07  delivered after 34 ms",
    ]


def test_a_target_with_a_retry_shows_its_time() -> None:
    target = {"result": FIRST, "next_attempt_at": at(30)}
    read = DeliveryReply.model_validate({"request_id": "d", "targets": [target]})
    assert lines(read)[-1] == "      2026-03-02 09:00:30  next attempt"


def test_without_the_delivery_center_the_first_attempts_are_shown() -> None:
    result = {"request_id": "d", "content": CONTENT, "results": [FIRST], "success": False}
    assert lines(delivery=result)[-1] == "  ✗ webhook https://x, attempts 1: 503 (will be retried)"
    assert lines(delivery=result | {"results": []})[-1] == "  none: the robot has no delivery preferences"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0 ms"), (0.34, "340 ms"), (12.34, "12.3 s"), (303, "5 min 3 s"), (None, "running")],
)
def test_a_duration_has_a_readable_unit(seconds: float | None, text: str) -> None:
    assert duration_text(AT, None if seconds is None else AT + timedelta(seconds=seconds)) == text
