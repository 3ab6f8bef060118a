"""Media: pictures, sound and files in people's messages, as parts of their content or as `[image:…]` in their text.

A medium is in the message itself (base64), or is an attachment of the team; a picture may also be at an address of the
web, from which it is fetched once for each run.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from rota_contracts.messages.attachment import ALIASES, FILE_ID, parse, wrap
from rota_contracts.messages.trigger import Message
from rota_contracts.model import Part

MAX_MEDIA = 10
"""Of all messages of one request, and in one prompt."""

MIB = 1024 * 1024
MEDIUM_BYTES, MEDIA_BYTES = 5 * MIB, 10 * MIB
"""Of one medium, and of all in one prompt."""

TEXT_LIMIT = 100_000
"""Characters of a file of text that a model is shown."""

READABLE = ("text/", "application/json", "application/xml", "application/yaml", "application/x-yaml")
"""Content types of files that are shown as text."""

TYPES = "text, image_url, input_audio or file"
EXPECTED = "expected an attachment (__rota.attachment://…) or base64 data; of a picture also an address (https://…)"

_MARKER = re.compile(r"\[image: ?([^\]\s]{1,2048})\]")
_ADDRESS = re.compile(r"https?://[^/\s]\S{0,2047}", re.IGNORECASE)
_OWN_ID = re.compile(r"[0-9a-f]{32}")
_DATA = re.compile(r"data:([a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60});base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


class MediaKind(StrEnum):
    IMAGE = "image"
    AUDIO = "audio"
    FILE = "file"


class Media(Part):
    """One medium. Either `file` (a wrapper), `data` (base64, of a `content_type`) or, for a picture, `url` is set; or
    the `problem` with a part that can't be read."""

    kind: MediaKind
    file: str = ""
    url: str = ""
    data: str = ""
    content_type: str = ""
    name: str = ""
    problem: str = ""


class WrongMedia(ValueError):
    """A part of a message that can't be read; the text says what was expected."""


def media_in(messages: Iterable[Message]) -> list[Media]:
    """All media of these messages, each once, in order. Raises WrongMedia."""
    found = list[Media]()
    for message in messages:
        found += [each for each in _of(message) if each not in found]
    return found


def media_of(messages: Iterable[Message]) -> list[Media]:
    """The same, with the problem in place of a part that can't be read."""
    found = list[Media]()
    for message in messages:
        parts = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content}]
        for part in parts:
            try:
                media = list(_of_part(part))
            except WrongMedia as error:
                media = [Media(kind=MediaKind.FILE, problem=str(error))]
            found += [each for each in media if each not in found]
    return found


def _of(message: Message) -> Iterator[Media]:
    if isinstance(message.content, str):
        yield from _marked(message.content)
        return
    for part in message.content:
        yield from _of_part(part)


def _of_part(part: dict[str, Any]) -> Iterator[Media]:
    match part:
        case {"type": "text", "text": str(text)}:
            yield from _marked(text)
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            yield _medium(MediaKind.IMAGE, url)
        case {"type": "input_audio", "input_audio": {"data": str(data), **more}}:
            yield _medium(MediaKind.AUDIO, data, content_type=f"audio/{more.get('format') or 'wav'}")
        case {"type": "file", "file": {"file_id": str(value), **more}}:
            wrapped = wrap(value) if re.fullmatch(FILE_ID, value) else value
            yield _medium(MediaKind.FILE, wrapped, name=str(more.get("filename") or ""))
        case {"type": "file", "file": {"file_data": str(data), **more}}:
            yield _medium(MediaKind.FILE, data, name=str(more.get("filename") or ""))
        case {"type": "text" | "image_url" | "input_audio" | "file" as kind}:
            raise WrongMedia(f"expected a part of type {kind} with its {kind} in OpenAI's form")
        case _:
            raise WrongMedia(f"expected parts of type {TYPES}, not {str(part.get('type'))[:40]}")


def _marked(text: str) -> Iterator[Media]:
    """Markers of attachments and of pictures of the web; what names neither is text."""
    for marker in _MARKER.finditer(text):
        named = wrap(marker[1]) if _OWN_ID.fullmatch(marker[1]) else marker[1]
        if _is_file(named) or _ADDRESS.fullmatch(named):
            yield _medium(MediaKind.IMAGE, named)


def _medium(kind: MediaKind, value: str, *, content_type: str = "", name: str = "") -> Media:
    name = name[:200]
    if _is_file(value):
        return Media(kind=kind, file=value, name=name)
    if kind is MediaKind.IMAGE and _ADDRESS.fullmatch(value):
        return Media(kind=kind, url=value, name=name)
    if found := _DATA.match(value):
        return Media(kind=kind, data=value[found.end() :], content_type=found[1].lower(), name=name)
    if content_type and _BASE64.fullmatch(value):
        return Media(kind=kind, data=value, content_type=content_type, name=name)
    raise WrongMedia(f"{EXPECTED}, not {value[:60]!r}")


def _is_file(value: str) -> bool:
    uploader, file_id, is_wrapper = parse(value)
    return is_wrapper and uploader in ALIASES and re.fullmatch(FILE_ID, file_id) is not None
