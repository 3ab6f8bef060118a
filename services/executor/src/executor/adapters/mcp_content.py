"""The answer of an MCP tool: text for a model, and files."""

import json
import mimetypes
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from mcp import types

LIMIT = 1_000_000
"""Bytes of an answer that are kept."""

ERROR_LIMIT = 4000


@dataclass(frozen=True)
class Binary:
    """A picture, sound or file in an answer; `data` in base64."""

    name: str
    content_type: str
    data: str

    @property
    def about(self) -> str:
        return f"{self.content_type}, {_size(self.data)} bytes"


Keep = Callable[[int, Binary], Awaitable[str]]
"""Keeps the file with this number, which counts from 1; returns the line that stands for it."""


async def kept_text(result: types.CallToolResult, keep: Keep) -> str:
    """`text_of`, with its files kept."""
    found = [(at, made) for at, part in enumerate(result.content) if (made := _binary(part, at + 1)) is not None]
    return text_of(result, {at: await keep(number, made) for number, (at, made) in enumerate(found, 1)})


def text_of(result: types.CallToolResult, files: Mapping[int, str] | None = None) -> str:
    """Its texts, and descriptions of other content; the JSON of structured content without any text. Cut if long.

    `files`: what stands for a part, by its index."""
    lines = files or {}
    parts = [lines.get(at) or _describe(part) for at, part in enumerate(result.content)]
    if result.structuredContent is not None and not any(_is_text(part) for part in result.content):
        parts.insert(0, json.dumps(result.structuredContent, ensure_ascii=False))
    return bounded("\n".join(parts), LIMIT)


def error_of(result: types.CallToolResult) -> str:
    """The tool's error."""
    return bounded(text_of(result), ERROR_LIMIT) or "the tool failed and doesn't say why"


def bounded(text: str, limit: int) -> str:
    """At most `limit` bytes of it, and a note on how much is missing."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return f"{raw[:limit].decode(errors='ignore')}\n[cut: {len(raw)} bytes, of which {limit} are kept]"


def _binary(part: types.ContentBlock, number: int) -> Binary | None:
    match part:
        case types.ImageContent() | types.AudioContent():
            kind = _type(part.mimeType)
            return Binary(f"{part.type}-{number}{mimetypes.guess_extension(kind) or ''}", kind, part.data)
        case types.EmbeddedResource(resource=types.BlobResourceContents() as held):
            name = re.sub(r"[^\w.-]", "_", str(held.uri).rstrip("/").rpartition("/")[2])[:100].lstrip(".")
            return Binary(name or f"file-{number}", _type(held.mimeType), held.blob)
        case _:
            return None


def _type(given: str | None) -> str:
    return (
        given.lower() if given and re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", given) else "application/octet-stream"
    )


def _is_text(part: types.ContentBlock) -> bool:
    return isinstance(part, types.TextContent) and part.text.strip() != ""


def _describe(part: types.ContentBlock) -> str:
    match part:
        case types.TextContent():
            return part.text
        case types.ImageContent() | types.AudioContent():
            return f"[{part.type} {part.mimeType}, {_size(part.data)} bytes]"
        case types.ResourceLink():
            return f"[link to {part.name}: {part.uri}]"
        case types.EmbeddedResource():
            return _resource(part.resource)


def _resource(held: types.TextResourceContents | types.BlobResourceContents) -> str:
    if isinstance(held, types.TextResourceContents):
        return f"[resource {held.uri}]\n{held.text}"
    return f"[resource {held.uri} {held.mimeType or 'of an unknown type'}, {_size(held.blob)} bytes]"


def _size(base64: str) -> int:
    return len(base64) * 3 // 4 - base64[-2:].count("=")
