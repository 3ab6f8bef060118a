"""Streams: every fact is stored in exactly the stream that the catalog names."""

from collections import Counter
from itertools import combinations

from rota_contracts.catalog import CHANNELS, dead_subject
from rota_contracts.streams import STREAMS, consumers


def matches(pattern: str, subject: str) -> bool:
    """As NATS does: `*` is one token, `>` is one or more at the end."""
    wanted, tokens = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, rest = wanted[:-1], tokens[len(wanted) - 1 :]
        tokens = tokens[: len(wanted)] if rest else []
    return len(wanted) == len(tokens) and all(w in ("*", t) for w, t in zip(wanted, tokens, strict=True))


def overlap(one: str, other: str) -> bool:
    """Whether some subject matches both; enough for patterns whose only wildcard is a `>` at the end."""
    return matches(one, other.replace(">", "x")) or matches(other, one.replace(">", "x"))


def keeping(subject: str) -> list[str]:
    return [stream.name for stream in STREAMS if any(matches(pattern, subject) for pattern in stream.subjects)]


def test_a_subject_falls_into_exactly_the_stream_of_its_channel() -> None:
    expected = {each.name: [each.stream] if each.stream else [] for each in CHANNELS.values()}
    assert {each.name: keeping(each.subject("acme", "lead-processor")) for each in CHANNELS.values()} == expected


def test_a_dead_letter_falls_into_the_stream_of_dead_letters_alone() -> None:
    dead = [dead_subject(each.subject("acme", "lead-processor")) for each in CHANNELS.values()]
    assert [subject for subject in dead if keeping(subject) != ["DEAD"]] == []


def test_no_two_subjects_of_streams_overlap() -> None:
    subjects = [subject for stream in STREAMS for subject in stream.subjects]
    assert [pair for pair in combinations(subjects, 2) if overlap(*pair)] == []


def test_wildcards_stand_only_at_the_end_of_a_stream_s_subject() -> None:
    assert [
        s for stream in STREAMS for s in stream.subjects if "*" in s or not s.endswith(".>") or s.count(">") != 1
    ] == []


def test_every_consuming_service_has_one_durable_per_channel() -> None:
    wanted = {
        (channel.pattern, service)
        for channel in CHANNELS.values()
        if channel.stream
        for service in channel.consumers - {"anyone"}
    }
    assert {(consumer.filter_subject, consumer.service) for consumer in consumers()} == wanted


def test_no_two_durables_have_the_same_name() -> None:
    names = Counter((consumer.stream, consumer.durable) for consumer in consumers())
    assert names.most_common(1)[0][1] == 1


def test_a_durable_s_name_has_nothing_that_nats_refuses() -> None:
    assert [c.durable for c in consumers() if not c.durable.replace("-", "").replace("_", "").isalnum()] == []


def test_a_work_queue_has_a_single_consumer() -> None:
    queues = [stream.name for stream in STREAMS if stream.retention == "workqueue"]
    readers = Counter(consumer.stream for consumer in consumers())
    assert {name: readers[name] for name in queues} == {"TRIGGERS": 1}


def test_a_message_can_be_sent_again_at_least_for_the_duplicate_window() -> None:
    assert [stream.name for stream in STREAMS if stream.duplicate_window > stream.max_age] == []
