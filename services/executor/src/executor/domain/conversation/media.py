"""Pictures, sound and files that people send in a run: as messages hold them until a model is asked, and as they are
sent then."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from executor.domain.run import Run
from rota_contracts.messages.execution import Task
from rota_contracts.messages.media import MAX_MEDIA, Media, MediaKind, media_of
from rota_contracts.messages.trigger import Message

MEDIUM = "medium"
"""The type of a part that stands for a medium until its content is read."""

FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}
"""Of sound, by the second half of its type."""

NOUNS = {MediaKind.IMAGE: "picture", MediaKind.AUDIO: "sound", MediaKind.FILE: "file"}


@dataclass(frozen=True)
class ReadMedium:
    """A medium with its content."""

    kind: MediaKind
    name: str
    content_type: str
    content: bytes

    @cached_property
    def base64(self) -> str:
        return base64.b64encode(self.content).decode()

    @property
    def data_url(self) -> str:
        return f"data:{self.content_type};base64,{self.base64}"

    @cached_property
    def digest(self) -> str:
        return sha256(self.content).hexdigest()

    @property
    def format(self) -> str:
        """Of sound, as models and tools name it: `mp3`, `wav` …"""
        subtype = self.content_type.partition("/")[2]
        return FORMATS.get(subtype, subtype)

    def part(self) -> dict[str, Any]:
        """In OpenAI's form, which litellm translates for others."""
        match self.kind:
            case MediaKind.IMAGE:
                return {"type": "image_url", "image_url": {"url": self.data_url}}
            case MediaKind.AUDIO:
                return {"type": "input_audio", "input_audio": {"data": self.base64, "format": self.format}}
            case MediaKind.FILE:
                return {"type": "file", "file": {"filename": self.name, "file_data": self.data_url}}


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
