"""The examples: one at least for every message, each readable by the models and accepted by the schemas."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from rota_contracts.catalog import CHANNELS, QUESTIONS
from rota_contracts.envelope import parse_event
from rota_contracts.ids import execution_id
from rota_contracts.robots.robot import Robot, parse_definition
from rota_contracts.tooling.asyncapi import EVENT_HEADERS
from rota_contracts.tooling.schemas import RPC, schemas

EXAMPLES = Path(__file__).parents[1] / "examples"
SIDES = ("request", "answer")


def load(folder: str) -> dict[str, Any]:
    """File (relative to the examples) → its content."""
    paths = sorted(EXAMPLES.glob(f"{folder}/*.json"))
    return {path.relative_to(EXAMPLES).as_posix(): json.loads(path.read_text(encoding="utf-8")) for path in paths}


MESSAGES = {name: example for channel in CHANNELS for name, example in load(channel).items()}
ROBOTS = load("robot")
QUESTIONS_ASKED = {Path(name).name.removesuffix(".json"): example for name, example in load("rpc").items()}


def complaints(schema: Any, value: Any) -> list[str]:
    Draft202012Validator.check_schema(schema)
    return [f"{error.json_path}: {error.message}" for error in Draft202012Validator(schema).iter_errors(value)]


def given(example: Any, written: Any) -> Any:
    """`written` without the fields that `example` leaves to their defaults."""
    if isinstance(example, dict) and isinstance(written, dict):
        return {key: given(value, written[key]) for key, value in example.items() if key in written}
    if isinstance(example, list) and isinstance(written, list) and len(example) == len(written):
        return [given(one, other) for one, other in zip(example, written, strict=True)]
    return written


def channel_of(name: str) -> str:
    return name.split("/")[0]


def test_every_folder_of_examples_is_a_channel_and_every_channel_has_one() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == {*CHANNELS, "rpc", "robot"}
    assert {channel_of(name) for name in MESSAGES} == set(CHANNELS)


def test_every_question_has_an_example_of_both_sides_and_no_other_has() -> None:
    assert {name: set(example) for name, example in QUESTIONS_ASKED.items()} == {name: set(SIDES) for name in QUESTIONS}


def test_an_example_is_read_and_written_as_it_is() -> None:
    for name, example in MESSAGES.items():
        channel, body = CHANNELS[channel_of(name)], json.dumps(example["data"]).encode()
        event = parse_event(channel.payload, example["headers"], body, expected=channel.type)
        assert example["data"] == given(example["data"], json.loads(event.body())), name
        assert example["headers"] == event.headers(), name


def test_an_example_is_sent_by_a_producer_on_the_subject_of_its_robot() -> None:
    wrong = []
    for name, example in MESSAGES.items():
        channel, data = CHANNELS[channel_of(name)], example["data"]
        sent = example["subject"] == channel.subject(data["team_id"], data["member_id"])
        if not sent or example["headers"]["ce-source"] not in channel.producers:
            wrong.append(name)
    assert wrong == []


def test_the_schemas_accept_every_example() -> None:
    made = schemas()
    found = {
        name: complaints(made[CHANNELS[channel_of(name)].schema], example["data"])
        + complaints(EVENT_HEADERS, example["headers"])
        for name, example in MESSAGES.items()
    }
    for name, example in QUESTIONS_ASKED.items():
        found |= {f"{name}.{side}": complaints(made[f"{RPC}{name}.{side}.json"], example[side]) for side in SIDES}
    found |= {name: complaints(made["robot.json"], example) for name, example in ROBOTS.items()}
    assert len(found) > len(CHANNELS) + 2 * len(QUESTIONS)
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_the_execution_of_an_example_derives_from_its_trigger() -> None:
    requested = [example["data"] for example in load("execution.requested").values()]
    assert requested
    assert [data["execution_id"] for data in requested] == [execution_id(d["trigger"]["trigger_id"]) for d in requested]


def test_an_example_of_a_question_is_read_and_written_as_it_is() -> None:
    for name, example in QUESTIONS_ASKED.items():
        for side, model in (("request", QUESTIONS[name].request), ("answer", QUESTIONS[name].answer)):
            made = model.model_validate(example[side])
            assert example[side] == given(example[side], made.model_dump(mode="json")), f"{name}: {side}"


def test_an_example_of_a_robot_is_a_definition_and_reads_the_same_once_stored() -> None:
    assert ROBOTS
    for name, example in ROBOTS.items():
        definition = parse_definition(example)
        assert definition.robot_config.identity.role, name
        owned = {"member_id": definition.member_id or "made-up", "team_id": "acme"}
        robot = Robot.model_validate(definition.model_dump() | owned)
        assert Robot.model_validate_json(robot.model_dump_json()) == robot, name


# TG-53: team_id and robot_status are in the member record, but are Rota's own to write.
def test_the_record_of_the_specification_is_a_robot() -> None:
    record = ROBOTS["robot/sales-bot.json"] | {"team_id": "team_xyz", "robot_status": "idle"}
    robot = Robot.model_validate(record)
    assert (robot.member_id, robot.team_id, robot.display_name) == ("mem_abc123", "team_xyz", "Sales Bot")
    assert robot.robot_config.delivery.preferences.email is not None
    assert robot.robot_config.delivery.preferences.email.targets[0].to == ["manager@company.com"]
