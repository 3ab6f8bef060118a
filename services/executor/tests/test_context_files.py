"""An agent as a folder: instructions, persona and what it always knows."""

import json
from pathlib import Path

import pytest
from services.executor.tests.prompt_kinds import ROBOT

from executor.agents.context_files import LONGEST, PROJECT
from executor.agents.prompt_files import AgentFileError, Agents
from executor.agents.prompts import system

FILES = {
    "AGENTS.md": '---\nteams: ["*"]\nconnector: small\n---\nWrite for $role.',
    "SOUL.md": "You are dry, and kind.",
    "IDENTITY.md": "Your name is Ada.",
    "BOOTSTRAP.md": "Read the price list.",
    "USER.md": "u" * (LONGEST + 1),
} | {name: f"About {name}." for name in PROJECT if name != "USER.md"}


def folder(path: Path, files: dict[str, str]) -> Path:
    (path / "ada").mkdir()
    for name, text in files.items():
        (path / "ada" / name).write_text(text)
    return path


def prompt(path: Path, *, minimal: bool = False) -> str:
    agent = Agents(path).of("acme").assistant("ada")
    assert agent.connector == "small"
    return system(agent, "ada", ROBOT, locale="de-DE", kind="run", minimal=minimal).text()


def test_the_files_of_a_folder_stand_in_the_prompt_in_their_order(tmp_path: Path) -> None:  # EX-33 EX-34 EX-101
    text = prompt(folder(tmp_path, FILES))
    order = [
        "[MANDATORY]",
        "Read the price list.",
        "You are dry",
        "name is Ada",
        "never make facts up",
        "Write for Sales",
    ]
    order += ["Write for Sales", *(f"<{name}>" for name in PROJECT), "Remember: you are ada"]
    assert sorted(order, key=text.index) == order
    assert f"<USER.md>\n{'u' * (LONGEST - 1)}…\n</USER.md>" in text


def test_an_agent_that_another_calls_gets_a_short_prompt(tmp_path: Path) -> None:  # EX-37
    text = prompt(folder(tmp_path, FILES), minimal=True)
    assert "Write for Sales" in text
    assert [name for name in PROJECT if f"<{name}>" in text] == ["TOOLS.md"]
    assert not [words for words in ("MANDATORY", "You are dry", "name is Ada") if words in text]


def test_a_document_may_say_who_the_agent_is(tmp_path: Path) -> None:  # EX-97
    document = {"identity": {"names": {"first": "Ada"}, "age": 36}, "linguistics": {"catchphrases": ["Indeed."]}}
    text = prompt(folder(tmp_path, {"AGENTS.md": FILES["AGENTS.md"], "IDENTITY.json": json.dumps(document)}))
    shown = "- identity:\n  - names:\n    - first: Ada\n  - age: 36\n- linguistics:\n  - catchphrases:\n    - Indeed."
    assert shown in text


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("NOTES.md", "x", "expected AGENTS.md, .* in the folder of ada: NOTES.md"),
        ("IDENTITY.json", "[1", "IDENTITY.json of agent ada is not JSON"),
        ("IDENTITY.json", "[]", "expected IDENTITY.json of agent ada to be a JSON object"),
    ],
)
def test_a_file_that_can_not_be_read_is_named_at_the_start(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(AgentFileError, match=problem):
        Agents(folder(tmp_path, FILES | {name: text}))


def test_an_agent_is_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "ada.md").write_text(FILES["AGENTS.md"])
    with pytest.raises(AgentFileError, match=r"ada is there twice: expected ada.md or ada/AGENTS.md"):
        Agents(folder(tmp_path, FILES))
