"""The map is complete: every channel has someone who sends it, someone who reads it, and a sentence."""

from collections import Counter

import pytest

from rota_contracts.catalog import (
    ANYONE,
    CHANNELS,
    QUESTIONS,
    ROOT,
    SERVICES,
    Channel,
    Question,
    dead_subject,
    process_subject,
)
from rota_contracts.model import Part, Payload

each_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


@each_channel
def test_a_channel_has_producers_that_are_services(channel: Channel[Payload]) -> None:
    assert channel.producers
    assert channel.producers <= set(SERVICES)


@each_channel
def test_a_channel_has_consumers_that_are_services_or_anyone(channel: Channel[Payload]) -> None:
    assert channel.consumers
    assert channel.consumers <= {*SERVICES, ANYONE}


@each_channel
def test_a_channel_is_described_by_a_sentence(channel: Channel[Payload]) -> None:
    assert channel.summary.endswith(".")


@each_channel
def test_a_payload_carries_its_version_in_its_name(channel: Channel[Payload]) -> None:
    assert channel.payload.__name__.endswith("V1")


@each_channel
def test_team_and_member_are_the_last_of_six_tokens_of_a_subject(channel: Channel[Payload]) -> None:
    tokens = channel.subject("acme", "lead-processor").split(".")
    assert (tokens[:2], len(tokens), tokens[-2:]) == (ROOT.split("."), 6, ["acme", "lead-processor"])


def test_no_rule_over_a_noun_reaches_questions_processes_or_dead_letters() -> None:
    # A team is granted rota.v1.<noun>.*.<team>.*; a process of another team may have that team's name in its own.
    nouns = {channel.name.split(".")[0] for channel in CHANNELS.values()}
    others = (process_subject("acme", "orders"), dead_subject("a"), *(q.subject for q in QUESTIONS.values()))
    assert not nouns & {subject.split(".")[2] for subject in others}


def test_no_payload_travels_on_two_channels() -> None:
    uses = Counter(channel.payload.__name__ for channel in CHANNELS.values())
    assert [name for name, times in uses.items() if times > 1] == []


@each_question
def test_a_question_is_answered_by_one_service_and_asked_by_others(question: Question[Part, Part]) -> None:
    assert question.answered_by in SERVICES
    assert question.asked_by
    assert question.asked_by <= set(SERVICES) - {question.answered_by}


@each_question
def test_a_question_says_in_its_subject_who_answers(question: Question[Part, Part]) -> None:
    service = question.answered_by.replace("-", "_")
    assert question.subject.startswith(f"{ROOT}.rpc.{service}.")


@each_question
def test_a_question_and_its_answer_are_described(question: Question[Part, Part]) -> None:
    assert question.request.__doc__
    assert question.answer.__doc__


def test_a_process_may_have_dots_in_its_name() -> None:
    assert process_subject("acme", "orders.UpdateStatus") == "rota.v1.process.acme.orders.UpdateStatus"  # DC-11
