"""One word for one thing, and the field's: `python -m tests.architecture.words PATH` lists what a folder has left."""

import pytest

from tests.architecture.words import files, of_text, offences


def test_every_text_uses_the_fields_words() -> None:
    found = sorted(offences(files()))
    assert not found, f"{len(found)} names and words to replace\n" + "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("path", "text", "seen"),
    [
        ("docs/x.md", "Nobody was told.", ["Nobody", "told"]),
        ("docs/x.md", "No reader can tell them apart.", []),
        ("docs/x.md", "They tell the gateway.", ["tell"]),
        ("services/x/tests/test_a.py", "def test_whoever_asks_is_told(): ...", ["whoever", "told"]),
        ("services/executor/src/executor/a.py", "word = Word()", ["Word"]),
        ("services/executor/src/executor/a.py", '"""A Word to say."""', []),
        ("services/executor/src/executor/a.py", '"""A `Word` to say."""', ["Word"]),
        ("services/executor/src/executor/a.py", "def seen(look_at): ...", ["look_at", "function seen"]),
        ("services/memory/src/memory/a.py", "def seen(): ...", []),
        ("cli/a.py", "class MemoryRuns: ...", ["MemoryRuns"]),
        ("cli/a.py", "class InMemoryRuns: ...", []),
        ("cli/a.py", "raise MemoryError", []),
    ],
)
def test_the_check_sees_what_it_looks_for(path: str, text: str, seen: list[str]) -> None:
    assert [one.found for one in of_text(path, text)] == seen
