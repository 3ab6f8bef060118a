"""Events of the live stream as lines."""

from datetime import UTC, datetime

import pytest

from rota.event_format import Event, format_event
from rota_contracts import catalog
from rota_contracts.messages.activity import ActivityKind, ActivityV1, Retrying
from rota_contracts.model import Payload

AT = datetime(2026, 3, 2, 9, 14, tzinfo=UTC)
WHOSE = {"team_id": "t", "member_id": "lead-processor"}


def event(channel: catalog.Channel[Payload], data: Event) -> Event:
    return {"type": channel.type, "time": AT.isoformat(), "data": WHOSE | data}


def test_the_start_of_a_phase_names_it_and_its_run() -> None:
    fact = ActivityV1(**WHOSE, execution_id="0c6f2a11-b", kind=ActivityKind.PHASE_STARTED, phase="goals", at=AT)
    line = format_event({"type": catalog.ACTIVITY.type, "data": fact.model_dump(mode="json")})
    assert line.split() == ["lead-processor", "0c6f2a11", "▶", "phase", "goals"]


def test_a_step_that_is_done_again_is_no_finished_phase() -> None:
    retrying = Retrying(attempt=1, max_attempts=3, error="no plan")
    fact = ActivityV1(
        **WHOSE,
        execution_id="e",
        kind=ActivityKind.RUN_RETRYING,
        phase="tasks",
        at=AT,
        text="no plan",
        retrying=retrying,
    )
    line = format_event({"type": catalog.ACTIVITY.type, "data": fact.model_dump(mode="json")})
    assert line.endswith("↻ tasks again, 1 of 3: no plan")


def test_a_long_text_stays_on_one_line() -> None:
    fact = {"kind": "task.finished", "task_id": "task-1", "text": "word\n" * 200}
    line = format_event({"type": catalog.ACTIVITY.type, "data": WHOSE | fact})
    assert "\n" not in line
    assert len(line) < 180


def test_a_delivery_names_each_target_and_its_success() -> None:
    results = [
        {"type": "email", "target": "a@b.c", "success": True},
        {"type": "webhook", "target": "https://x", "success": False},
    ]
    line = format_event({"type": catalog.DELIVERY_COMPLETED.type, "data": WHOSE | {"result": {"results": results}}})
    assert line.endswith("✉ delivery.completed: ✓ email a@b.c, ✗ webhook https://x")


def test_a_verdict_shows_whether_it_passed() -> None:
    data = WHOSE | {"task_id": "task-2", "verdict": {"passed": False, "score": 0.3}, "error": None}
    assert format_event({"type": catalog.VALIDATION_COMPLETED.type, "data": data}).endswith(
        "verdict task-2: not passed, score 0.3"
    )


def test_a_notification_is_shown_with_its_channel_and_title() -> None:  # DEC-12
    data = {"channel": "sales", "title": "A lead", "subscriber": "ada"}
    assert format_event(event(catalog.NOTIFICATION_POSTED, data)).endswith("✉ notification on sales for ada: A lead")
    assert format_event(event(catalog.NOTIFICATION_POSTED, data | {"subscriber": None})).endswith("on sales: A lead")


@pytest.mark.parametrize(
    ("data", "printed"),
    [
        ({"count": 1, "first": "A", "last": "A", "message": "too old"}, "✗ missed 1 run, due A: too old"),
        ({"count": 3, "first": "A", "last": "C", "message": "too old"}, "✗ missed 3 runs, due A to C: too old"),
    ],
)
def test_missed_runs_are_shown_with_when_they_were_due(data: Event, printed: str) -> None:
    assert format_event(event(catalog.TRIGGER_MISSED, data)).endswith(printed)


def test_a_rejection_is_shown_with_its_reason() -> None:
    data = {"reason": "queue_full", "message": "10 runs wait already"}
    assert format_event(event(catalog.TRIGGER_REJECTED, data)).endswith("✗ not run: 10 runs wait already")


def test_a_robot_in_error_and_its_recovery_are_shown() -> None:  # TG-18
    failed = format_event(event(catalog.ROBOT_FAILED, {"execution_id": "e1", "message": "no model"}))
    assert failed.endswith("✗ status: error since run e1 failed: no model")
    recovered = format_event(event(catalog.ROBOT_RECOVERED, {"execution_id": "e2"}))
    assert recovered.endswith("✓ status: no longer error, run e2 completed")


@pytest.mark.parametrize("name", sorted(catalog.CHANNELS))
def test_every_channel_has_a_line_even_without_data(name: str) -> None:
    assert "lead-processor" in format_event(event(catalog.CHANNELS[name], {}))


def test_an_unknown_event_is_named_by_its_type() -> None:
    assert format_event({"type": "rota.v2.thing.happened", "data": {}}).endswith("· rota.v2.thing.happened")


@pytest.mark.parametrize(
    ("channel", "printed"),
    [
        (catalog.TARGET_DISABLED, "✗ disabled webhook https://x: it is gone"),
        (catalog.TARGET_ENABLED, "✓ enabled webhook https://x"),
    ],
)
def test_a_disabled_or_enabled_target_is_shown(channel: catalog.Channel[Payload], printed: str) -> None:
    assert format_event(event(channel, {"type": "webhook", "target": "https://x", "reason": "it is gone"})).endswith(
        printed
    )
