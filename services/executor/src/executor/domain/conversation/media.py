"""Pictures, sound and files that people send in a run, as messages hold them until a model is asked."""

from collections.abc import Sequence
from typing import Any

from executor.domain.run import Run
from rota_contracts.messages.execution import Task
from rota_contracts.messages.media import MAX_MEDIA, Media, MediaKind, media_of
from rota_contracts.messages.trigger import Message

MEDIUM = "medium"
"""The type of a part that stands for a medium until its content is read."""

NOUNS = {MediaKind.IMAGE: "picture", MediaKind.AUDIO: "sound", MediaKind.FILE: "file"}


def media_sent(run: Run, task: Task | None = None) -> list[Media]:
    """All that people have sent in this run, each once: what came with the trigger first."""
    messages = [*run.execution.trigger.input.messages, *run.sent, *(task.messages if task else [])]
    return media_of(messages)


def as_messages(media: Sequence[Media]) -> list[Message]:
    """One message with the newest of them; none without any."""
    if not media:
        return []
    kept, left_out = media[-MAX_MEDIA:], media[:-MAX_MEDIA]
    words = "People sent this with their words:"
    if left_out:
        words = f"People sent {len(media)} pictures and files; these are the newest, without the first {len(left_out)}:"
    parts: list[dict[str, Any]] = [{"type": "text", "text": words}]
    parts += [{"type": MEDIUM, MEDIUM: each.model_dump(mode="json")} for each in kept]
    return [Message(role="user", content=parts)]


def as_medium(part: dict[str, Any]) -> Media | None:
    return Media.model_validate(part[MEDIUM]) if part.get("type") == MEDIUM else None
