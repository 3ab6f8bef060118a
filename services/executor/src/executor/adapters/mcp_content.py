"""The answer of an MCP tool, as text for a model."""

import json

from mcp import types

LIMIT = 1_000_000
"""Bytes of an answer that are kept."""

ERROR_LIMIT = 4000


def text_of(result: types.CallToolResult) -> str:
    """Its texts, and descriptions of other content; the JSON of structured content without any text. Cut if long."""
    parts = [_describe(part) for part in result.content]
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
