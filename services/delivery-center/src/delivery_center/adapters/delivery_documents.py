"""A delivery as a MongoDB document, and back."""

import json
from typing import Any

from delivery_center.domain.delivery import Attempt, Delivery, Target
from rota_common.stores.mongo import Document

FROM_OUTSIDE = ("result", "tasks")
"""Parts of the content that hold JSON of any form."""


def document_of(delivery: Delivery) -> Document:
    document = delivery.model_dump(mode="json", exclude={"request_id", "targets", "due_at"})
    instants: Document = {"created_at": delivery.created_at, "accepted_at": delivery.accepted_at}
    content = document["content"] | {name: _text(document["content"][name]) for name in FROM_OUTSIDE}
    return {"_id": delivery.request_id, **document, "content": content, **instants, **changing(delivery)}


def changing(delivery: Delivery) -> Document:
    """The fields written with every change. `due_at` is set while a target is pending, `over_at` afterwards."""
    written: Document = {
        "claimed": delivery.claimed,
        "starting": delivery.starting,
        "feed_position": delivery.feed_position,
        "state": delivery.state.value,
        "targets": [_target_document(target) for target in delivery.targets],
    }
    if delivery.due_at is None:
        return written | {"over_at": delivery.last_at}
    return written | {"due_at": delivery.due_at}


def _target_document(target: Target) -> Document:
    document = target.model_dump(mode="json", exclude={"attempts", "next_attempt_at"})
    return document | {
        "config": _text(target.config),
        "next_attempt_at": target.next_attempt_at,
        "attempts": [_attempt_document(attempt) for attempt in target.attempts],
    }


def _attempt_document(attempt: Attempt) -> Document:
    return attempt.model_dump(mode="json") | {"at": attempt.at, "details": _text(attempt.details)}


def delivery_of(document: Document) -> Delivery:
    """What the projection left out of the content is empty."""
    targets = [_target(target) for target in document["targets"]]
    content = {"body": {"inline": ""}} | document["content"]
    content |= {name: json.loads(content[name]) for name in FROM_OUTSIDE if name in content}
    return Delivery.model_validate(document | {"request_id": document["_id"], "targets": targets, "content": content})


def _target(document: Document) -> Target:
    attempts = [attempt | {"details": json.loads(attempt["details"])} for attempt in document["attempts"]]
    return Target.model_validate(document | {"config": json.loads(document["config"]), "attempts": attempts})


def _text(value: Any) -> str:
    """JSON from outside is stored as text: MongoDB has no integers over 64 bits and no keys with a zero byte."""
    return json.dumps(value)
