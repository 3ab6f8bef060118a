"""Robot definitions in files: errors are named field by field."""

from pathlib import Path

import pytest
from cli.tests.harness import Command

from rota.definitions import read_definitions
from rota.errors import CliError
from rota.robot_template import template
from rota_contracts.tooling.schemas import robot_schema

GOOD = "member_id: a\nrobot_config:\n  identity: {role: Tester}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.yaml"
    path.write_text(text)
    return path


def test_a_file_may_hold_several_robots(tmp_path: Path) -> None:
    found = read_definitions(written(tmp_path, f"{GOOD}---\n{GOOD.replace('member_id: a', 'member_id: b')}---\n"))
    assert [definition.member_id for definition in found] == ["a", "b"]


def test_each_invalid_field_is_named_with_its_path(tmp_path: Path) -> None:
    text = "member_id: a\nrobot_config:\n  identity: {rule: Tester}\n  clock: {mode: times, times: ['25:00']}\n"
    with pytest.raises(CliError) as caught:
        read_definitions(written(tmp_path, text))
    fields = {line.partition(":")[0] for line in caught.value.details}
    assert fields == {"robot_config.identity.role", "robot_config.identity.rule", "robot_config.clock.times.0"}


def test_a_mistake_is_answered_with_the_field_or_the_form_that_was_meant(tmp_path: Path) -> None:
    config = "robot_config:\n  identity: {role: Tester, duties: [Watch: the price]}\n  evnts: []\n"
    config += "  delivery: {type: email, opts: {to: ana@example.com}}\n"
    with pytest.raises(CliError) as caught:
        read_definitions(written(tmp_path, f"member_id: a\n{config}"))
    assert {line.partition(": ")[2] for line in caught.value.details} == {
        "expected a text, not a mapping: a text with `: ` in it needs quotes",
        "unknown field: did you mean events?",
        "expected a list, like [ana@example.com]",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it is empty"),
        ("- a\n- b\n", "expected a robot"),
        ("a: [", "expected YAML"),
        (GOOD.replace("member_id: a\n", ""), "expected member_id"),
    ],
)
def test_a_document_that_is_no_robot_is_rejected_with_the_reason(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(CliError, match=expected) as caught:
        read_definitions(written(tmp_path, text))
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="nowhere.yaml"):
        read_definitions(tmp_path / "nowhere.yaml")


def test_words_and_times_of_day_need_no_quotes(tmp_path: Path) -> None:
    config = "  dedup: {on: true}\n  learn: {on: no}\n  clock: {mode: times, times: [09:30, 17:00]}\n"
    (found,) = read_definitions(written(tmp_path, f"{GOOD}{config}"))
    clock = found.robot_config.clock
    assert (found.robot_config.dedup.on, found.robot_config.learn.on) == (True, False)
    assert clock is not None
    assert clock.times == ["09:30", "17:00"]


SAME = {"member_type", "agents", "mcp_servers", "subject_template", "preferences", "name"}
"""Other names of fields, and what has one value."""


def test_the_definition_to_begin_with_is_valid_and_has_every_field(tmp_path: Path) -> None:  # CL-01
    text = template("support", schema="http://127.0.0.1:8480/schemas/robot.json")
    (found,) = read_definitions(written(tmp_path, text))
    assert found.member_id == "support"
    schema = robot_schema()
    fields = {name for each in (schema, *schema["$defs"].values()) for name in each.get("properties", {})}
    assert {field for field in fields - SAME if f"{field}:" not in text} == set()
    page = (Path(__file__).parents[2] / "docs" / "robots.md").read_text()
    assert f"```yaml\n{template('support')}\n```" in page


def test_a_name_that_no_robot_can_have_is_refused() -> None:
    with pytest.raises(CliError, match="expected a name of letters"):
        template("two words")


def test_a_schema_that_no_result_can_have_is_refused_without_a_running_rota(command: Command, tmp_path: Path) -> None:
    schema = "  delivery: {schema: {type: object, properties: {score: {type: %s}}}}\n"
    assert command("validate", "-f", str(written(tmp_path, GOOD + schema % "integer")))[:2] == (0, "a: valid\n")
    code, out, err = command("validate", "-f", str(written(tmp_path, GOOD + schema % "number-like")))
    assert (code, out) == (1, "")
    assert "robot_config.delivery.schema: expected" in err
