"""The examples are valid: definitions that the contract accepts, an event."""

import json
from pathlib import Path

import pytest
import yaml
from cli.tests.harness import Command, Gateway

from rota.definitions import read_definitions, wire
from rota.robot_template import template
from rota_contracts.robots.robot import parse_definition

EXAMPLES = Path(__file__).parents[2] / "examples"
ROBOTS = sorted((EXAMPLES / "robots").glob("*.yaml"))


def test_the_five_robots_of_the_specification_are_there() -> None:
    # CL-01
    assert {path.stem for path in ROBOTS} >= {
        "seo-content",
        "competitor-monitor",
        "research-analyst",
        "sales-assistant",
        "lead-processor",
    }


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_each_robot_is_a_definition_and_is_named_as_its_file(path: Path) -> None:
    # CL-01
    (definition,) = read_definitions(path)
    assert definition.member_id == path.stem
    assert definition.display_name


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_a_robot_is_sent_with_only_the_written_fields(path: Path) -> None:
    (definition,) = read_definitions(path)
    assert parse_definition(wire(definition)) == definition


ODD_TEXTS = ["on", "no", "0o17", "1e3", "09:30", "12:30", "2026-03-01", "~", "a: b", "# c", "two\nlines\n", " é "]


def test_a_robots_definition_comes_back_as_a_file_that_changes_nothing(
    gateway: Gateway, command: Command, tmp_path: Path
) -> None:  # CL-01
    (tmp_path / "every-field.yaml").write_text(template("every-field"))
    odd = {"identity": {"role": "1.5", "duties": ODD_TEXTS}}
    definitions = [found for path in (*ROBOTS, tmp_path / "every-field.yaml") for found in read_definitions(path)]
    definitions.append(parse_definition({"member_id": "odd", "robot_config": odd}))
    for definition in definitions:
        name = str(definition.member_id)
        maintained = {"team_id": "main", "robot_status": "idle", "error": None, "rev": 3, "deleted": False}
        gateway.responses[f"/robots/{name}"] = definition.model_dump(mode="json") | maintained
        (tmp_path / "got.yaml").write_text(command("robots", "get", name)[1])
        assert read_definitions(tmp_path / "got.yaml") == [definition], name
        assert parse_definition(json.loads(command("robots", "get", name, "--json")[1])) == definition


def test_a_field_that_this_command_does_not_know_is_not_lost_in_silence(gateway: Gateway, command: Command) -> None:
    gateway.responses["/robots/a"] = {"member_id": "a", "robot_config": {"identity": {"role": "A"}, "moods": []}}
    code, out, err = command("robots", "get", "a")
    assert (code, out) == (1, "")
    assert "moods" in err
    assert "newer than this command" in err


def test_the_lead_processor_signs_its_webhooks_and_sends_mails() -> None:
    # TG-12, DC-08
    (definition,) = read_definitions(EXAMPLES / "robots" / "lead-processor.yaml")
    config = definition.robot_config
    channels = config.delivery.preferences
    assert channels.webhook is not None
    assert channels.webhook.targets[0].secret == "$SECRET.SALES_WEBHOOK_SECRET"
    assert channels.email is not None
    assert config.events[0].wants("leads", "lead.created")
    assert not config.events[0].wants("leads", "lead.deleted")


def test_the_example_event_is_the_specifications_lead() -> None:
    lead = yaml.safe_load((EXAMPLES / "events" / "lead-created.json").read_text())
    assert lead["company"] == "BigCorp"
