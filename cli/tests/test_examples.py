"""The examples are valid: definitions that the contract accepts, an event."""

from pathlib import Path

import pytest
import yaml

from rota.definitions import read_definitions, wire
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
