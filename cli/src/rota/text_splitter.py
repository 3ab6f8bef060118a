"""Text files as entries of a team's shared knowledge. A long one is split between paragraphs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rota.errors import CliError
from rota_contracts.messages.memory import MAX_PARTS, part_id

PART_LIMIT = 4_000
"""Characters: small enough that a part has one topic, and that several fit into a robot's prompt."""

BORDERS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?])\s|(?<=[。！？])"),
    re.compile(r"\s"),
)
"""Split points, the best first: between paragraphs, lines, sentences, words."""

HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
TITLE_LIMIT = 400
ID_LIMIT = 200
"""Characters of an id, including the number of its part."""


@dataclass(frozen=True)
class Text:
    """A file: its id and the parts of its content, at least one."""

    id: str
    title: str
    parts: tuple[str, ...]

    def entries(self) -> list[dict[str, str]]:
        """The body for the API: one entry with the id, or several as `id#1`, `id#2` and so on."""
        if len(self.parts) == 1:
            return [{"id": self.id, "title": self.title, "content": self.parts[0]}]
        of = len(self.parts)
        return [
            {"id": part_id(self.id, number), "title": f"{self.title} ({number} of {of})", "content": part}
            for number, part in enumerate(self.parts, start=1)
        ]


def read_text(path: Path, text_id: str = "") -> Text:
    """The file. Its id is its name unless `text_id` is given. CliError if it is unreadable, empty or too long."""
    name = text_id or path.name
    if len(longest := part_id(name, MAX_PARTS)) > ID_LIMIT:
        what = f"expected an id of at most {ID_LIMIT - len(longest) + len(name)} characters, got {name!r}"
        raise CliError(what, hint="choose a shorter one with --id")
    try:
        content = path.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        raise CliError(f"can't read {path}: {error.strerror}", hint="give the path of a text file") from error
    except UnicodeDecodeError as error:
        raise CliError(f"expected a text in UTF-8 in {path}: {error.reason}", hint="convert it to UTF-8") from error
    if not content:
        raise CliError(f"expected a text in {path}: it is empty", hint="`rota kb remove` removes an entry")
    parts = tuple(split(content))
    if len(parts) > MAX_PARTS:
        what = f"expected at most {MAX_PARTS} parts of {PART_LIMIT} characters in {path}, got {len(parts)}"
        raise CliError(what, hint="split it into several files")
    return Text(name, _title(content, path), parts)


def split(text: str, *, limit: int = PART_LIMIT) -> Iterator[str]:
    """The text in parts of at most `limit` characters, each as long as the split points allow."""
    rest = text.strip()
    while len(rest) > limit:
        end = _last_border(rest, limit)
        part, rest = rest[:end].strip(), rest[end:].strip()
        yield part
    if rest:
        yield rest


def _last_border(text: str, limit: int) -> int:
    """The best border within the first `limit` characters, or `limit` if there is none."""
    for border in BORDERS:
        starts = [found.start() for found in border.finditer(text, 0, limit + 2) if 0 < found.start() <= limit]
        if starts:
            return starts[-1]
    return limit


def _title(content: str, path: Path) -> str:
    heading = HEADING.search(content)
    return (heading.group(1) if heading else path.stem)[:TITLE_LIMIT]
