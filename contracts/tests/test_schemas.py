"""The schemas and the AsyncAPI document: complete, in agreement with the models, and up to date where committed."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from rota_contracts.catalog import ANYONE, CHANNELS, DELIVERY_COMPLETED, FEED, QUESTIONS
from rota_contracts.envelope import Event
from rota_contracts.robots.robot import parse_definition
from rota_contracts.streams import STREAMS
from rota_contracts.tooling.asyncapi import EVENT_HEADERS, asyncapi
from rota_contracts.tooling.export import exported, main, repository_root, stale, write
from rota_contracts.tooling.feed_asyncapi import feed_asyncapi
from rota_contracts.tooling.schemas import robot_schema, schemas

ROOT = Path(__file__).parents[2]
SPECIFIED = re.compile(r"\b(?!UTF-8)(?:[A-Z]{2,3}-\d\d?|F\d\d?|Decision \d+)\b")
ROLE = {"identity": {"role": "Sales Analyst"}}


def references(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        if isinstance(document.get("$ref"), str):
            yield document["$ref"]
        for part in document.values():
            yield from references(part)
    elif isinstance(document, list):
        for part in document:
            yield from references(part)


def resolve(document: Any, reference: str) -> Any:
    for step in reference.removeprefix("#/").split("/"):
        document = document[step]
    return document


def accepts(schema: Any, value: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


def test_the_exported_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", "--root", str(ROOT)]) == 0, capsys.readouterr().out


def test_the_same_models_give_the_same_bytes() -> None:
    assert exported() == exported()


def test_every_file_ends_with_a_newline() -> None:
    assert [path for path, text in exported().items() if not text.endswith("\n")] == []


def test_every_schema_has_a_name_of_its_own_a_title_and_a_description() -> None:
    made = schemas()
    assert len({schema["$id"] for schema in made.values()}) == len(made)
    assert [name for name, schema in made.items() if not (schema["title"] and schema["description"])] == []


def test_a_schema_is_named_after_its_channel() -> None:
    assert schemas()["delivery.completed.v1.json"]["$id"] == "urn:rota:schema:rota.v1.delivery.completed"


def test_a_stale_a_missing_and_a_left_over_file_are_named(tmp_path: Path) -> None:
    files = exported()
    write(tmp_path, files)
    assert stale(tmp_path, files) == []
    folder = tmp_path / "contracts/schemas"
    (folder / "robot.json").write_text("{}")
    (folder / "trigger.received.v1.json").unlink()
    (folder / "rpc").mkdir()
    (folder / "rpc/gone.request.json").write_text("{}")
    assert [path.name for path in stale(tmp_path, files)] == [
        "robot.json",
        "gone.request.json",
        "trigger.received.v1.json",
    ]
    write(tmp_path, files)
    assert stale(tmp_path, files) == []


def test_the_check_names_the_stale_file_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path)]) == 0
    (tmp_path / "docs/channels.md").write_text("out of date")
    capsys.readouterr()
    assert main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "not up to date: docs/channels.md\nrun: python -m rota_contracts.tooling.export\n"


def test_the_root_is_found_from_a_folder_inside() -> None:
    assert repository_root(ROOT / "contracts" / "src") == ROOT


def test_a_folder_outside_any_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"expected contracts/pyproject\.toml"):
        repository_root(tmp_path)


def test_the_page_of_channels_names_every_channel_and_question() -> None:
    page = (ROOT / "docs/channels.md").read_text(encoding="utf-8")
    subjects = [question.subject for question in QUESTIONS.values()]
    assert [name for name in (*CHANNELS, *subjects) if f"[`{name}`]" not in page] == []


def test_the_page_of_channels_links_to_files_that_exist() -> None:
    page = (ROOT / "docs/channels.md").read_text(encoding="utf-8")
    links = [part.partition(")")[0] for part in page.split("](")[1:]]
    assert links
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


GOOD_ROBOTS = (
    {"robot_config": ROLE},
    {"robot_config": ROLE | {"delivery": {"type": "email", "opts": {"to": ["a@b.example"]}}}},
    {"robot_config": ROLE | {"delivery": {"type": "process", "opts": {"name": "a.b"}}}},
    {"robot_config": ROLE | {"delivery": {"type": "notify"}}},
    {"robot_config": ROLE | {"delivery": {"preferences": {"process": {"targets": [{"process": "a"}]}}}}},
    {"robot_config": ROLE | {"clock": {"mode": "times", "times": ["09:00"], "days": ["Mon-Fri", "Sun"]}}},
)
BAD_ROBOTS = (
    {"robot_config": ROLE | {"delivery": {"type": "email"}}},
    {"robot_config": ROLE | {"delivery": {"type": "fax", "opts": {}}}},
    {"robot_config": ROLE | {"delivery": {"type": "notify", "opts": {"chanel": "x"}}}},
    {"robot_config": ROLE | {"delivery": {"preferences": {"process": {"targets": [{"args": []}]}}}}},
    {"robot_config": ROLE | {"clock": {"mode": "times", "times": ["9am"]}}},
    {"robot_config": ROLE | {"clock": {"mode": "times", "times": ["09:00"], "days": ["Monday"]}}},
    {"robot_config": ROLE | {"executor": {"max_duration": "soon"}}},
    {"robot_config": ROLE | {"clokc": {}}},
    {"robot_config": ROLE, "robot_status": "idle"},
    {"robot_config": {}},
    {},
)


def is_definition(robot: dict[str, Any]) -> bool:
    try:
        parse_definition(robot)
    except ValidationError:
        return False
    return True


# DEC-11, DC-09, DC-11
def test_the_schema_for_editors_agrees_with_the_model() -> None:
    schema = robot_schema()
    for judge in (is_definition, lambda robot: accepts(schema, robot)):
        assert [robot for robot in GOOD_ROBOTS if not judge(robot)] == []
        assert [robot for robot in BAD_ROBOTS if judge(robot)] == []


def test_no_object_of_the_schema_for_editors_is_open() -> None:
    schema = robot_schema()
    named = [part for part in [schema, *schema["$defs"].values()] if "properties" in part]
    assert [part["title"] for part in named if part["additionalProperties"] is not False] == []


def test_every_reference_of_the_asyncapi_documents_leads_somewhere() -> None:
    for document in (asyncapi("1.2.3"), feed_asyncapi()):
        found = set(references(document))
        assert len(found) > len(document["channels"])
        for reference in found:
            assert resolve(document, reference)


def test_the_document_of_the_feed_holds_what_a_feed_client_may_read_and_how_it_connects() -> None:
    document = feed_asyncapi()
    assert document["servers"]["nats"]["security"] == [{"$ref": "#/components/securitySchemes/nkey"}]
    readable = set(document["channels"])
    assert readable == {name for name, channel in CHANNELS.items() if ANYONE in channel.consumers}
    assert {"delivery.completed", "robot.failed", "robot.changed", "trigger.rejected"} <= readable
    assert {one["channel"]["$ref"] for one in document["operations"].values()} == {f"#/channels/{n}" for n in readable}
    kept = {name for name, channel in document["channels"].items() if "x-consumer" in channel}
    assert kept == {name for name in readable if CHANNELS[name].stream == FEED}


def test_the_asyncapi_document_has_every_channel_with_its_address() -> None:
    channels = asyncapi("1.2.3")["channels"]
    addresses = {name: f"rota.v1.{name}.{{team}}.{{member}}" for name in CHANNELS}
    addresses |= {f"rpc.{name}": f"rota.v1.rpc.{name}" for name in QUESTIONS}
    assert {name: channels[name]["address"] for name in addresses} == addresses


def test_the_asyncapi_document_holds_the_retention_of_each_channel() -> None:
    channels = asyncapi("1.2.3")["channels"]
    for channel in CHANNELS.values():
        kept = channels[channel.name].get("x-retention", {})
        stream = next((each for each in STREAMS if each.name == channel.stream), None)
        assert kept.get("max_age_seconds") == (stream and stream.max_age), channel.name
    assert "until it is handled, at most 7 days" in channels["trigger.received"]["description"]


def test_the_asyncapi_document_holds_the_publishers_and_consumers_of_each_channel() -> None:
    operations = asyncapi("1.2.3")["operations"]
    wanted = {f"{p}.send.{name}" for name, channel in CHANNELS.items() for p in channel.producers}
    wanted |= {f"{c}.receive.{name}" for name, channel in CHANNELS.items() for c in channel.consumers if c != "anyone"}
    wanted |= {f"{asker}.ask.{name}" for name, question in QUESTIONS.items() for asker in question.asked_by}
    wanted |= {f"{question.answered_by}.answer.{name}" for name, question in QUESTIONS.items()}
    assert set(operations) == wanted


def test_the_headers_of_an_event_are_those_of_the_asyncapi_document() -> None:
    example = json.loads((ROOT / "contracts/examples/delivery.completed/lead.json").read_text(encoding="utf-8"))
    data = DELIVERY_COMPLETED.payload.model_validate(example["data"])
    now = datetime(2026, 3, 2, tzinfo=UTC)
    event = Event("i", DELIVERY_COMPLETED.type, "delivery-center", now, data, cause="c", traceparent="t", sequence=1)
    assert set(event.headers()) == set(EVENT_HEADERS["properties"])


def test_no_published_text_carries_an_id_of_the_specification() -> None:
    published = {**{str(path): text for path, text in exported().items()}, "asyncapi": json.dumps(asyncapi("1.2.3"))}
    published |= {name: json.dumps(schema) for name, schema in schemas().items()}
    found = {name: sorted(set(SPECIFIED.findall(text))) for name, text in published.items()}
    assert {name: ids for name, ids in found.items() if ids} == {}
