"""Decisions about robots' records and keys."""

from datetime import UTC, datetime
from typing import Any

import pytest

from rota_contracts.robots.robot import Robot, RobotStatus
from trigger_gateway.problems import Invalid
from trigger_gateway.robots.record import changed, replaced, same, webhook_sources
from trigger_gateway.robots.record import definition as definition_of
from trigger_gateway.teams.api_keys import key_matches, make_key, parse_key, secret_matches

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def robot(**fields: Any) -> Robot:
    given = {"team_id": "acme", "member_id": "leader", "robot_config": {"identity": {"role": "Greeter"}}}
    return Robot.model_validate(given | fields)


def test_a_robot_is_found_by_the_webhooks_it_names() -> None:
    events = [
        {"type": "webhook", "source": "/webhook/leads"},
        {"type": "webhook", "source": "leads"},
        {"type": "webhook", "source": "crm"},
        {"type": "database", "source": "table"},
    ]
    assert webhook_sources(robot(robot_config={"identity": {"role": "x"}, "events": events})) == ["crm", "leads"]


def test_a_change_replaces_top_level_fields_and_counts() -> None:  # TG-17
    before = robot(display_name="Leo", robot_email="leo@example.com")
    after = changed(before, {"display_name": "Lea", "robot_status": "paused"})
    assert (after.display_name, after.robot_status, after.rev) == ("Lea", RobotStatus.PAUSED, 2)
    assert after.robot_email == "leo@example.com"
    assert same(changed(before, {}), before)
    assert not same(after, before)


def test_the_short_form_of_a_delivery_survives_changes() -> None:  # DEC-11
    config = {"identity": {"role": "x"}, "delivery": {"type": "email", "opts": {"to": ["a@example.com"]}}}
    before = robot(robot_config=config)
    after = changed(before, {"display_name": "Lea"})
    assert after.robot_config == before.robot_config
    assert after.robot_config.delivery.preferences.email is not None


def test_a_new_definition_keeps_name_team_and_status() -> None:
    before = robot(robot_status="paused", display_name="Leo", rev=7)
    new = definition_of({"robot_config": {"identity": {"role": "Scout"}}})
    after = replaced(before, new)
    assert (after.member_id, after.team_id, after.rev, after.robot_status) == ("leader", "acme", 8, RobotStatus.PAUSED)
    assert (after.display_name, after.robot_config.identity.role) == ("", "Scout")


def test_each_wrong_field_of_a_definition_is_named_with_its_reason() -> None:
    config = {"identity": {"role": " "}, "clock": {"mode": "interval"}, "quota": {"max": 0}}
    with pytest.raises(Invalid) as caught:
        definition_of({"robot_config": config, "colour": "red"})
    found = {each.field: each.message for each in caught.value.fields}
    assert set(found) == {"robot_config.identity.role", "robot_config.clock", "robot_config.quota.max", "colour"}
    assert found["robot_config.clock"] == 'mode interval needs every, for example "30m"'


def test_a_subscription_to_an_unknown_operation_is_refused() -> None:  # TG-12
    events = [
        {"type": "database", "source": "crm", "filter": {"trigger": trigger}}
        for trigger in (None, "insert", "upsert", "")
    ]
    with pytest.raises(Invalid) as caught:
        definition_of({"robot_config": {"identity": {"role": "x"}, "events": events}})
    found = {each.field: each.message for each in caught.value.fields}
    assert list(found) == [f"robot_config.events.{number}.filter.trigger" for number in (2, 3)]
    assert found["robot_config.events.2.filter.trigger"] == (
        "expected insert, update, replace, delete or nothing for each of them, not 'upsert'"
    )


def test_a_robot_with_an_invalid_subscription_can_still_be_paused() -> None:  # TG-17
    events = [{"type": "database", "source": "crm", "filter": {"trigger": "upsert"}}]
    before = robot(robot_config={"identity": {"role": "x"}, "events": events})
    assert changed(before, {"robot_status": "paused"}).robot_status is RobotStatus.PAUSED


def test_a_key_matches_by_its_secret_alone() -> None:
    new = make_key("acme", key_id="abc", secret="s_e-c_r_e_t", at=AT)
    presented = parse_key(new.text)
    assert new.text == "rota_abc_s_e-c_r_e_t"
    assert presented is not None
    assert key_matches(presented, new.key)
    assert "s_e-c" not in str(new.key)
    for other in ("rota_abc_s_e-c_r_e_", "rota_abc_", "rota_abc_ä"):
        wrong = parse_key(other)
        assert wrong is None or not key_matches(wrong, new.key)


@pytest.mark.parametrize("text", ["", "rota", "rota_", "rota_abc", "rota__secret", "other_abc_secret"])
def test_text_that_is_no_key_does_not_parse(text: str) -> None:
    assert parse_key(text) is None


def test_secrets_of_any_text_can_be_compared() -> None:
    assert secret_matches("ä", "ä")
    assert not secret_matches("a", "ab")
