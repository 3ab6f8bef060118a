"""The executors' signals that are remembered."""

from datetime import UTC, datetime

import pytest

from delivery_center.attempts.paused_executions import PausedExecutions
from rota_contracts.envelope import Event
from rota_contracts.messages.control import ControlGivenV1
from rota_contracts.messages.delivery import DeliveryPermission, Permission

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def signal(action: str, *execution_ids: str, reason: str = "") -> Event[ControlGivenV1]:
    ids = list(execution_ids) or ["e1"]
    given = ControlGivenV1(team_id="acme", member_id="_all_", action=action, execution_ids=ids, reason=reason, at=NOON)
    return Event("f1", "control.given", "executor", NOON, given)


def after(*actions: str) -> Permission | None:
    paused = PausedExecutions()
    for action in actions:
        paused.apply(signal(action))
    permission = paused.permission("e1")
    return None if permission is None else permission.leave


def test_a_pause_lasts_until_the_resume_and_a_stop_is_final(subtests: pytest.Subtests) -> None:  # F11
    cases = [
        ((), None),
        (("pause",), Permission.HOLD),
        (("pause", "resume"), None),
        (("resume", "pause"), Permission.HOLD),
        (("pause", "stop"), Permission.DENY),
        (("stop", "pause"), Permission.DENY),
        (("stop", "resume"), Permission.DENY),
        (("intervene",), None),
        (("pause", "intervene"), Permission.HOLD),
    ]
    for actions, expected in cases:
        with subtests.test(actions=actions, expected=expected):
            assert after(*actions) is expected


def test_a_signal_applies_to_the_executions_it_names() -> None:
    paused = PausedExecutions()
    paused.apply(signal("stop", "e1", "e2", reason="wrong customer"))
    assert paused.permission("e2") == DeliveryPermission(leave=Permission.DENY, reason="wrong customer")
    assert paused.permission("e3") is None


def test_a_missing_reason_has_a_default_and_a_long_one_is_truncated() -> None:
    paused = PausedExecutions()
    paused.apply(signal("pause"))
    paused.apply(signal("stop", "e2", reason="x" * 10_000))
    held, stopped = paused.permission("e1"), paused.permission("e2")
    assert held is not None
    assert stopped is not None
    assert held.reason == "the execution is paused"
    assert len(stopped.reason) == 500


def test_the_newest_signals_are_remembered_and_a_repeated_one_is_new() -> None:
    paused = PausedExecutions(limit=2)
    for execution_id in ("e1", "e2", "e1", "e3"):
        paused.apply(signal("pause", execution_id))
    assert [paused.permission(execution_id) is not None for execution_id in ("e1", "e2", "e3")] == [True, False, True]


def test_a_later_signal_is_not_forgotten() -> None:
    paused = PausedExecutions()
    paused.apply(signal("pause"))
    before = paused.permission("e1")
    assert before is not None
    paused.apply(signal("pause"))
    paused.forget("e1", before)
    since = paused.permission("e1")
    assert since is not None
    paused.forget("e1", since)
    assert paused.permission("e1") is None
