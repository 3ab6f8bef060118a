"""The AsyncAPI 3.0 document of the bus: every channel, its publishers, its consumers and the schema of its messages.

The gateway serves it at /asyncapi; `python -m rota_contracts.tooling.asyncapi` prints it. `feed_asyncapi.py` makes what
a feed client needs of it.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version as installed
from typing import Any

from pydantic.json_schema import models_json_schema

from rota_contracts.catalog import ANYONE, CHANNELS, QUESTIONS, ROOT, Channel, Question
from rota_contracts.envelope import CONTENT_TYPE, MSG_ID, SEQUENCE, TRACEPARENT
from rota_contracts.model import NAME_PATTERN, Part, Payload
from rota_contracts.streams import DAY, STREAMS, Stream
from rota_contracts.tooling.schemas import PlainSchema

Document = dict[str, Any]

EVENT_HEADERS: Document = {
    "type": "object",
    "description": "CloudEvents 1.0 in binary mode, with headers of NATS and W3C Trace Context.",
    "required": ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time"],
    "properties": {
        "ce-specversion": {"type": "string", "const": "1.0"},
        "ce-id": {"type": "string", "description": "derived from the cause: the same fact always has the same id"},
        "ce-type": {"type": "string"},
        "ce-source": {"type": "string", "description": "the service that published it"},
        "ce-time": {"type": "string", "format": "date-time"},
        "ce-causationid": {"type": "string", "description": "the id of the cause"},
        SEQUENCE: {
            "type": "string",
            "pattern": "^[0-9]{20}$",
            "description": "on the feed: the number of the fact in its subject, 1, 2, 3 … without a gap",
        },
        "content-type": {"type": "string", "const": CONTENT_TYPE},
        MSG_ID: {"type": "string", "description": "ce-id, followed by :<n> if it was resent on purpose"},
        TRACEPARENT: {"type": "string"},
    },
}
REFUSED: Document = {
    "title": "The request failed",
    "contentType": "text/plain",
    "headers": {
        "type": "object",
        "required": ["rota-error"],
        "properties": {
            "rota-error": {
                "type": "string",
                "enum": ["permanent", "transient", "working"],
                "description": "transient: retry later; working: repeat the request and keep waiting",
            }
        },
    },
    "payload": {"type": "string", "description": "the reason, as text"},
}
PARAMETERS: Document = {
    "team": {"description": f"The team of the message: {NAME_PATTERN}"},
    "member": {"description": f"The robot of the message: {NAME_PATTERN}"},
}


def asyncapi(version: str) -> Document:
    """The document; `version` is that of the package rota-contracts."""
    channels: Document = {channel.name: channel_document(channel) for channel in CHANNELS.values()}
    operations: Document = {}
    for channel in CHANNELS.values():
        operations |= _channel_operations(channel)
    for question in QUESTIONS.values():
        channels |= dict(_question_channels(question))
        operations |= _question_operations(question)
    return {
        "asyncapi": "3.0.0",
        "id": f"urn:{ROOT.replace('.', ':')}",
        "info": {
            "title": "Rota",
            "version": version,
            "description": "Robot agents on NATS JetStream: facts, and requests between services.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": CONTENT_TYPE,
        "channels": channels,
        "operations": operations,
        "components": {
            "schemas": schemas_of(_models()),
            "messages": {"Refused": REFUSED},
            "parameters": PARAMETERS,
        },
    }


def _models() -> list[type[Part]]:
    models: list[type[Part]] = [channel.payload for channel in CHANNELS.values()]
    return models + [model for question in QUESTIONS.values() for model in (question.request, question.answer)]


def schemas_of(models: Iterable[type[Part]]) -> Document:
    """The schemas of these models and of what they are made of, and the headers of an event."""
    _, shared = models_json_schema(
        [(model, "validation") for model in models],
        ref_template="#/components/schemas/{model}",
        schema_generator=PlainSchema,
    )
    definitions: Document = shared["$defs"]
    return definitions | {"EventHeaders": EVENT_HEADERS}


def _payload(model: type[Part]) -> Document:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def channel_document(channel: Channel[Payload]) -> Document:
    stream = next((each for each in STREAMS if each.name == channel.stream), None)
    headers = {"properties": {"ce-type": {"const": channel.type}}, "required": ["ce-type"]}
    return {
        "address": channel.subject("{team}", "{member}"),
        "title": channel.name,
        "description": f"{channel.summary} {_kept(stream, channel)}",
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in PARAMETERS},
        "messages": {
            "event": {
                "name": channel.type,
                "title": channel.payload.__name__,
                "summary": channel.summary,
                "contentType": CONTENT_TYPE,
                "headers": {"type": "object", "allOf": [{"$ref": "#/components/schemas/EventHeaders"}, headers]},
                "payload": _payload(channel.payload),
            }
        },
    } | ({"x-retention": _retention(stream)} if stream else {})


def _kept(stream: Stream | None, channel: Channel[Payload]) -> str:
    if stream is None:
        return "Not stored."
    if stream.retention == "interest" and channel.consumers == {ANYONE}:
        return f"Confirmed by the stream {stream.name} and passed on to live subscribers, but not kept."
    until = "for" if stream.retention == "limits" else "until it is handled, at most"
    return f"Kept in the stream {stream.name} {until} {stream.max_age // DAY} days."


def _retention(stream: Stream) -> Document:
    """The retention of the stream, and what it does when it is full."""
    return {
        "stream": stream.name,
        "policy": stream.retention,
        "max_age_seconds": stream.max_age,
        "max_bytes": stream.max_bytes,
        "when_full": "drop oldest" if stream.discard == "old" else "refuse",
    }


def _channel_operations(channel: Channel[Payload]) -> Document:
    """The consumer `anyone` is outside: it has no operation in this document."""
    parties = [(service, "send") for service in sorted(channel.producers)]
    parties += [(service, "receive") for service in sorted(channel.consumers - {ANYONE})]
    return {
        f"{service}.{action}.{channel.name}": {
            "action": action,
            "channel": {"$ref": f"#/channels/{channel.name}"},
            "messages": [{"$ref": f"#/channels/{channel.name}/messages/event"}],
            "tags": [{"name": service}],
        }
        for service, action in parties
    }


def _question_channels(question: Question[Part, Part]) -> Iterator[tuple[str, Document]]:
    yield (
        f"rpc.{question.name}",
        {
            "address": question.subject,
            "title": question.name,
            "description": f"Answered by {question.answered_by}, within {question.timeout:g} s.",
            "messages": {"request": {"title": question.request.__name__, "payload": _payload(question.request)}},
        },
    )
    yield (
        f"rpc.{question.name}.reply",
        {
            "address": None,
            "description": "The reply subject of the request.",
            "messages": {
                "answer": {"title": question.answer.__name__, "payload": _payload(question.answer)},
                "refused": {"$ref": "#/components/messages/Refused"},
            },
        },
    )


def _question_operations(question: Question[Part, Part]) -> Document:
    name = f"rpc.{question.name}"
    parties = [(service, "send") for service in sorted(question.asked_by)] + [(question.answered_by, "receive")]
    return {
        f"{service}.{'ask' if action == 'send' else 'answer'}.{question.name}": {
            "action": action,
            "channel": {"$ref": f"#/channels/{name}"},
            "messages": [{"$ref": f"#/channels/{name}/messages/request"}],
            "reply": {
                "channel": {"$ref": f"#/channels/{name}.reply"},
                "messages": [{"$ref": f"#/channels/{name}.reply/messages/{side}"} for side in ("answer", "refused")],
            },
            "tags": [{"name": service}],
        }
        for service, action in parties
    }


if __name__ == "__main__":
    json.dump(asyncapi(installed("rota-contracts")), sys.stdout, indent=2, ensure_ascii=False)
