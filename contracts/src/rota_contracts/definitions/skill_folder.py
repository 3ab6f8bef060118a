"""The folder of a skill as it stands on a disk: its `SKILL.md`, and the texts beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from os.path import abspath
from pathlib import Path

from rota_contracts.definitions.front_matter import FENCE, halves
from rota_contracts.definitions.skill import FILES, LEVELS, SKILL_FILE


@dataclass(frozen=True)
class SkillFolder:
    """`head`: the YAML of its front matter; `text`: what stands below it. `files`: the others, by path."""

    name: str
    head: str
    text: str
    files: dict[str, str]


def read_folder(folder: Path, *, limit: int) -> SkillFolder:
    """What stands in it, but for hidden files. Raises ValueError, with what is expected, also for more than `limit`
    bytes in all, for too many files, and for a link that leads out of it: what it names would become readable."""
    root, texts, room = folder.resolve(), dict[str, str](), limit
    for path in _files(folder, root, LEVELS):
        name, size = path.relative_to(folder).as_posix(), path.stat().st_size
        if len(texts) > FILES:
            raise ValueError(f"expected at most {FILES} files beside {SKILL_FILE}")
        if size > room:
            raise ValueError(f"expected at most {limit} bytes in the whole folder; {name} is beyond")
        room -= size
        try:
            texts[name] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"expected {name} to be text in UTF-8, as all files of a skill are") from error
    head, text = _halves(texts.pop(SKILL_FILE, ""))
    return SkillFolder(Path(abspath(folder)).name, head, text, texts)


def _files(folder: Path, root: Path, levels: int) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if not path.resolve().is_relative_to(root):
            raise ValueError(f"expected files of the folder alone; {path.name} leads out of it")
        if path.is_file():
            yield path
        elif path.is_dir() and levels == 1:
            raise ValueError(f"expected at most {LEVELS} levels of folders; {path.name} is deeper")
        elif path.is_dir():
            yield from _files(path, root, levels - 1)


def _halves(text: str) -> tuple[str, str]:
    try:
        found = halves(text)
    except ValueError as error:
        raise ValueError(f"the front matter of {SKILL_FILE} {error}") from error
    if found is None:
        raise ValueError(f"expected {SKILL_FILE} to begin with a front matter in YAML, between two lines of {FENCE}")
    return found
