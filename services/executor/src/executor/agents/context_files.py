"""The files of an agent's folder: its instructions, its persona, and what it always knows."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rota_contracts.messages.execution import excerpt

INSTRUCTIONS = "AGENTS.md"
"""The file that every agent's folder has: a front matter, then the system prompt, as in `<id>.md`."""

DOCUMENT = "IDENTITY.json"
"""An AIEOS document, which may stand in place of the files of the persona."""

PERSONA = ("SOUL.md", "IDENTITY.md")
BOOTSTRAP = "BOOTSTRAP.md"
TOOLS = "TOOLS.md"
PROJECT = (
    TOOLS, "USER.md", "USER_PREDEFINED.md", "HEARTBEAT.md", "DELEGATION.md", "TEAM.md", "AVAILABILITY.md", "MEMORY.md",
)  # fmt: skip
"""In the order in which they stand in a prompt."""

LONGEST = 20_000
"""Characters of a file that a prompt has."""

DEEPEST = 6

MANDATORY = "[MANDATORY] Do this before anything else, and then go on with what you are asked:"


class ContextFileError(ValueError):
    """A file of an agent's folder can't be read; names the file."""


@dataclass(frozen=True)
class ContextFiles:
    """The files by name, but for the instructions; each is cut at `LONGEST` characters where it is shown."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def persona(self) -> str:
        """The document or the files that say who the agent is."""
        return "\n\n".join(self._shown(name) for name in (DOCUMENT, *PERSONA) if self._shown(name))

    def mandatory(self) -> str:
        """What must be done first."""
        first = self._shown(BOOTSTRAP)
        return f"{MANDATORY}\n{first}" if first else ""

    def project(self, *, minimal: bool = False) -> Iterator[tuple[str, str]]:
        """The other files, by name. `minimal`: only what it must know of its tools."""
        for name in (TOOLS,) if minimal else PROJECT:
            if text := self._shown(name):
                yield name, text

    def _shown(self, name: str) -> str:
        return excerpt(self.texts.get(name, "").strip(), LONGEST)


def read(folder: Path) -> ContextFiles:
    """The files of an agent's folder. Raises ContextFileError for one that nobody knows, or a document that is no
    JSON object."""
    known = {INSTRUCTIONS, DOCUMENT, BOOTSTRAP, *PERSONA, *PROJECT}
    texts = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.name not in known:
            raise ContextFileError(f"expected {', '.join(sorted(known))} in the folder of {folder.name}: {path.name}")
        if path.name != INSTRUCTIONS:
            text = path.read_text(encoding="utf-8")
            texts[path.name] = _of_document(folder.name, text) if path.name == DOCUMENT else text
    return ContextFiles(texts)


def _of_document(agent_id: str, text: str) -> str:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ContextFileError(f"{DOCUMENT} of agent {agent_id} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ContextFileError(f"expected {DOCUMENT} of agent {agent_id} to be a JSON object, got a {type(document)}")
    return "\n".join(_lines(document))


def _lines(value: Any, depth: int = 0) -> Iterator[str]:
    """A JSON value as a list for readers: a line for each field, those of an object below it."""
    indent = "  " * depth
    named = value.items() if isinstance(value, dict) else [("", each) for each in value]
    for name, each in named:
        label = f"{name}: " if name else ""
        if isinstance(each, dict | list) and depth < DEEPEST:
            yield f"{indent}- {label}".rstrip()
            yield from _lines(each, depth + 1)
        else:
            yield f"{indent}- {label}{each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}"
