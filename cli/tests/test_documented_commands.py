"""The commands that README and docs show: each is one that `rota` knows, with its options and arguments."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from rota.lazy_commands import COMMANDS, OLD_NAMES, load

ROOT = Path(__file__).parents[2]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^ *```[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
IN_BLOCK = re.compile(r"^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?rota (?=[a-z-])(.*)$", re.MULTILINE)
IN_TEXT = re.compile(r"`rota ([a-z-][^`]*)`")
PLACEHOLDER = re.compile(r"[A-Z_]{2,}|N|.*[…<>|].*")
ENDS = "|&;<>()"
UsageError: Any = typer.BadParameter.__mro__[1]


def documented(text: str) -> Iterator[tuple[str, bool]]:
    """Each command without its `rota`, and whether it is in a block, which people copy."""
    for block in BLOCK.findall(text):
        yield from ((found, True) for found in IN_BLOCK.findall(block.replace("\\\n", " ")))
    yield from ((" ".join(found.split()), False) for found in IN_TEXT.findall(BLOCK.sub("", text)))


def words_of(line: str) -> list[str]:
    """As the shell reads them, up to a pipe, a redirection or a comment."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=ENDS)
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set(ENDS):
            break
        words.append(word)
    return words


def problem(line: str, *, in_block: bool) -> str:
    """Why `rota` would refuse the command, or empty. In a text a name may stand for its command."""
    try:
        words = words_of(line)
    except ValueError as error:
        return str(error)
    if words[:1] == ["--context"]:
        words = words[2:]
    if not words or words[0].startswith("-") or PLACEHOLDER.fullmatch(words[0]):
        return ""
    if words[0] not in {*COMMANDS, *OLD_NAMES}:
        return f"no command {words[0]}"
    command: Any = load(words.pop(0))
    while words and words[0] in (inner := getattr(command, "commands", {})):
        command = inner[words.pop(0)]
    lists = getattr(command, "invoke_without_command", False)
    if getattr(command, "commands", {}) and words and not words[0].startswith("-"):
        if not PLACEHOLDER.fullmatch(words[0]) and not (lists and words[0] == "list"):
            return f"no command {words[0]} of {command.name}"
        return ""
    return _refusal(command, words, in_block=in_block) if words or in_block else ""


def _refusal(command: Any, words: list[str], *, in_block: bool) -> str:
    cut = words[:-1] if words[-1:] in (["…"], ["..."]) else words  # the reader fills it
    if words and not cut:
        return ""
    try:
        command.make_context(command.name, list(cut))
    except typer.Exit:
        return ""
    except UsageError as error:
        kind, said = type(error).__name__, error.format_message()
        whole = in_block and cut == words
        if kind == "NoArgsIsHelpError" or (kind in ("MissingParameter", "BadOptionUsage") and not whole):
            return ""
        wrong = kind != "BadParameter" or ("is not one of" in said and not any(map(PLACEHOLDER.fullmatch, cut)))
        return said if wrong else ""
    return ""


def test_each_command_in_readme_and_docs_is_one_that_rota_takes(subtests: pytest.Subtests) -> None:
    seen = 0
    for file in TEXTS:
        wrong = []
        for line, in_block in documented(file.read_text()):
            seen += 1
            if said := problem(line, in_block=in_block):
                wrong.append(f"rota {line}: {said}")
        with subtests.test(file=file.name):
            assert wrong == [], "expected commands as `rota … --help` shows them"
    assert seen > 200


def test_what_is_no_command_is_found() -> None:
    for line in (
        "nonsense",
        "deliveries --status failed",
        "keys nonsense",
        "logs",
        "executions --status odd",
        "trigger a --attach",
    ):
        assert problem(line, in_block=True), line
    for line in ("logs EXECUTION", "executions --status running | head", "keys create", "trigger …"):
        assert problem(line, in_block=line != "keys create") == "", line
