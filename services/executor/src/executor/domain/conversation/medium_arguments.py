"""The arguments of a tool that describes a picture or sound: which of them takes it, and in what form. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from executor.domain.conversation.chat import Tool
from executor.domain.conversation.media import NOUNS, ReadMedium
from rota_contracts.messages.media import MediaKind
from rota_contracts.model import Json

WORDS = {MediaKind.IMAGE: ("image", "picture", "photo"), MediaKind.AUDIO: ("audio", "sound", "speech", "voice")}
"""In the name of the argument that takes the medium."""

OTHERS = ("url", "uri", "data", "base64", "content", "file")
"""Names of that argument in tools for any content."""

TYPES = ("mime_type", "mimeType", "media_type", "mediaType", "content_type", "contentType")
FORMAT = "format"
REQUESTS = ("prompt", "question", "query", "instruction", "instructions", "text")


@dataclass(frozen=True)
class MediumArguments:
    """`shown`: the arguments as hooks and people see them, with a line about the medium in its place; `contents`: what
    stands there when the call is made."""

    shown: dict[str, Json]
    contents: Mapping[str, str]

    def filled(self, arguments: Json) -> Json:
        """The arguments, as they are after all checks, with the content of the medium."""
        if not isinstance(arguments, dict):
            return arguments
        return {
            name: self.contents.get(value, value) if isinstance(value, str) else value
            for name, value in arguments.items()
        }


def medium_arguments(tool: Tool, medium: ReadMedium, request: str) -> MediumArguments | None:
    """A data URL, or plain base64 for an argument that is named so, or beside one for the type. `request`: the words
    for a tool that takes some. None if it isn't clear which argument takes the medium."""
    texts = tool.texts
    if not (taking := _taking(tool, medium.kind)):
        return None
    noun, size = NOUNS[medium.kind], len(medium.content)
    line = f"{noun} {medium.name} ({medium.content_type}, {size} bytes, sha256 {medium.digest})"
    plain = _is_plain(taking, texts)
    shown: dict[str, Json] = {taking: line}
    shown |= {name: medium.content_type for name in TYPES if name in texts}
    shown |= {FORMAT: medium.format} if plain and FORMAT in texts and medium.kind is MediaKind.AUDIO else {}
    asked = next((name for name in REQUESTS if name in texts and name != taking), None)
    shown |= {asked: request} if asked else {}
    return MediumArguments(shown, {line: medium.base64 if plain else medium.data_url})


def _taking(tool: Tool, kind: MediaKind) -> str:
    able = [name for name in tool.texts if name not in (*TYPES, FORMAT) and "path" not in name.lower()]
    named = [name for name in able if any(word in name.lower() for word in WORDS[kind])]
    common = [name for name in OTHERS if name in able]
    rest = [name for name in able if name not in REQUESTS]
    required = [name for name in tool.parameters.get("required") or () if name in rest]
    if found := [*named, *common]:
        return found[0]
    return required[0] if len(required) == 1 else rest[0] if len(rest) == 1 else ""


def _is_plain(name: str, texts: Mapping[str, Mapping[str, Any]]) -> bool:
    says, lower = texts[name].get("contentEncoding") == "base64", name.lower()
    named = "base64" in lower or "b64" in lower or ("data" in lower and "ur" not in lower)
    return says or named or ("ur" not in lower and any(each in texts for each in TYPES))
