"""The catalog: every channel has publishers, consumers and a description, every question a service that answers."""

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_contracts.catalog import (
    ANYONE,
    CHANNELS,
    QUESTIONS,
    ROOT,
    SERVICES,
    Channel,
    dead_subject,
    process_subject,
)
from rota_contracts.envelope import Event
from rota_contracts.upcasting import Upcaster, readings

SUBJECT = re.compile(r"rota\.v\d+\.[a-z]+\.[a-z]+\.acme\.lead-processor")


def test_a_channel_has_producers_that_are_services() -> None:
    wrong = [each.name for each in CHANNELS.values() if not each.producers or each.producers - set(SERVICES)]
    assert wrong == []


def test_a_channel_has_consumers_that_are_services_or_anyone() -> None:
    parties = {*SERVICES, ANYONE}
    assert [each.name for each in CHANNELS.values() if not each.consumers or each.consumers - parties] == []


def test_a_channel_is_described_by_a_sentence() -> None:
    assert [each.name for each in CHANNELS.values() if not each.summary.endswith(".")] == []


def test_a_payload_carries_its_version_in_its_name() -> None:
    assert [each.name for each in CHANNELS.values() if not each.payload.__name__.endswith(f"V{each.version}")] == []


def test_team_and_member_are_the_last_of_six_tokens_of_a_subject() -> None:
    subjects = [each.subject("acme", "lead-processor") for each in CHANNELS.values()]
    assert [subject for subject in subjects if not SUBJECT.fullmatch(subject)] == []


def test_no_rule_over_a_noun_reaches_questions_processes_or_dead_letters() -> None:
    # A team is granted rota.v1.<noun>.*.<team>.*; a process of another team may have that team's name in its own.
    nouns = {channel.name.split(".")[0] for channel in CHANNELS.values()}
    others = (process_subject("acme", "orders"), dead_subject("a"), *(q.subject for q in QUESTIONS.values()))
    assert not nouns & {subject.split(".")[2] for subject in others}


def test_no_payload_travels_on_two_channels() -> None:
    uses = Counter(channel.payload.__name__ for channel in CHANNELS.values())
    assert [name for name, times in uses.items() if times > 1] == []


def test_a_question_is_answered_by_one_service_and_asked_by_others() -> None:
    def is_well_formed(answered_by: str, asked_by: frozenset[str]) -> bool:
        return answered_by in SERVICES and bool(asked_by) and asked_by <= set(SERVICES) - {answered_by}

    assert [each.name for each in QUESTIONS.values() if not is_well_formed(each.answered_by, each.asked_by)] == []


def test_the_subject_of_a_question_names_the_service_that_answers() -> None:
    prefixes = {each.subject: f"{ROOT}.rpc.{each.answered_by.replace('-', '_')}." for each in QUESTIONS.values()}
    assert [subject for subject, prefix in prefixes.items() if not subject.startswith(prefix)] == []


def test_a_question_and_its_answer_are_described() -> None:
    models = [model for each in QUESTIONS.values() for model in (each.request, each.answer)]
    assert [model.__name__ for model in models if not model.__doc__] == []


def test_a_process_may_have_dots_in_its_name() -> None:
    assert process_subject("acme", "orders.UpdateStatus") == "rota.v1.process.acme.orders.UpdateStatus"  # DC-11


def test_a_version_is_read_by_the_upcasters_of_those_that_follow() -> None:
    first: Channel[Any] = CHANNELS["execution.started"]
    second = replace(first, name="execution.started.v2", version=2, upcaster=Upcaster(first, lambda data: [*data, 2]))
    third = replace(second, name="execution.started.v3", version=3, upcaster=Upcaster(second, lambda data: [*data, 3]))
    event = Event(id="e", type=first.type, source="executor", time=datetime.now(UTC), data=["data"])
    read = {channel.type: upcast(event).data for channel, upcast in readings(third)}
    assert read == {
        "rota.v3.execution.started": ["data"],
        "rota.v2.execution.started": ["data", 3],
        "rota.v1.execution.started": ["data", 2, 3],
    }
    assert (third.schema, third.durable("scheduler")) == ("execution.started.v3.json", "scheduler-execution-started-v3")
    with pytest.raises(ValueError, match=r"expected an upcaster of .*v3.*, got one of .*v1"):
        replace(third, upcaster=Upcaster(first, lambda data: data))
