"""The page docs/channels.md: the catalog, the streams and the questions as tables."""

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
from rota_contracts.streams import (
    ATTACHMENTS_BUCKET,
    DAY,
    DEFINITIONS_BUCKET,
    MIB,
    MINUTE,
    OUTPUTS_BUCKET,
    ROBOTS_BUCKET,
    STREAMS,
    Stream,
)
from rota_contracts.tooling.tables import table

INTRODUCTION = """\
# Channels

<!-- Generated from rota_contracts.catalog and rota_contracts.streams by `python -m rota_contracts.tooling.export`. -->

The messages between the services of Rota, and those that other programs can receive. Every message is a CloudEvent in
binary mode: `ce-*` headers, and the payload as JSON in the body. How to read one: [contracts](../contracts/README.md).
For tools, the gateway serves the same as an AsyncAPI document at `/asyncapi`, and every schema at `/schemas`.
"""

FACTS = """\
## Facts

The subject of a fact is `{subject}`: the last two tokens name its robot, so that a rule
like `{rule}` grants a team its own messages and nothing else.
A payload of version 1 only gains optional fields; readers ignore fields that they don't know.
*Anyone*: programs outside.
"""

STREAMS_INTRODUCTION = """\
## Streams

*Until it is handled*: until every consumer of its subject has acknowledged it; what only *anyone* consumes is confirmed
and passed on to live subscribers, but not kept. Messages with the same `Nats-Msg-Id` within the duplicate window are
stored once.
"""

QUESTIONS_INTRODUCTION = """\
## Questions

Request and reply; one service answers. A reply with the header `rota-error` is a failure, with the reason as text:
`permanent`; `transient`, retry later; `working`, repeat the request and keep waiting. If the service is down, NATS
reports *no responders* at once.
"""

OTHERS = f"""\
## Other subjects and buckets

| Where | What |
|---|---|
| `{process_subject("<team>", "<name>")}` | request: a process of a team, run by the team itself |
| `{dead_subject("<subject>")}` | a message that could not be handled, with the reason in its headers |
| key-value bucket `{ROBOTS_BUCKET}` | `<team>.<member>`: the robot's definition |
| key-value bucket `{DEFINITIONS_BUCKET}` | a team's sets of definitions, and these, by their revisions |
| object store `{OUTPUTS_BUCKET}` | texts that are too long for a message |
| object store `{ATTACHMENTS_BUCKET}` | `<team>/<file id>`: attachments of results |
"""


def channels_page() -> str:
    channels, questions = CHANNELS.values(), QUESTIONS.values()
    facts = FACTS.format(subject=f"{ROOT}.<channel>.<team>.<member>", rule=f"{ROOT}.delivery.*.<team>.*")
    parts = [
        INTRODUCTION,
        facts,
        table(("Channel", "Payload", "Stream", "Publishers", "Consumers", "Published"), map(_fact, channels)),
        STREAMS_INTRODUCTION,
        table(("Stream", "Subjects", "Kept", "At most", "When full", "Duplicate window"), map(_stream, STREAMS)),
        QUESTIONS_INTRODUCTION,
        table(("Subject", "Request", "Answer", "Answered by", "Asked by", "Within"), map(_question, questions)),
        OTHERS,
    ]
    return "\n".join(parts)


def _fact(channel: Channel[Payload]) -> tuple[str, ...]:
    return (
        f"[`{channel.name}`](../contracts/examples/{channel.name})",
        f"[{channel.payload.__name__}](../contracts/schemas/{channel.schema})",
        channel.stream or "not stored",
        _services(channel.producers),
        _services(channel.consumers),
        channel.summary,
    )


def _stream(stream: Stream) -> tuple[str, ...]:
    kept = "for" if stream.retention == "limits" else "until it is handled, at most"
    return (
        stream.name,
        "<br>".join(f"`{subject}`" for subject in stream.subjects),
        f"{kept} {stream.max_age // DAY} days",
        f"{stream.max_bytes // MIB} MiB",
        "drops the oldest" if stream.discard == "old" else "refuses",
        f"{stream.duplicate_window // MINUTE} min",
    )


def _question(question: Question[Part, Part]) -> tuple[str, ...]:
    return (
        f"[`{question.subject}`](../contracts/examples/rpc/{question.name}.json)",
        question.request.__name__,
        question.answer.__name__,
        question.answered_by,
        _services(question.asked_by),
        f"{question.timeout:g} s",
    )


def _services(names: frozenset[str]) -> str:
    """In the order of the catalog's services."""
    return ", ".join(name for name in (*SERVICES, ANYONE) if name in names)
