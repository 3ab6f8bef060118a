"""Robot definitions in files: errors are named field by field."""

from pathlib import Path

import pytest

from rota.definitions import read_definitions
from rota.errors import CliError

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
