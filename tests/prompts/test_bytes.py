"""Prompts as the server of a model receives them: each kind and mode, in the forms of OpenAI and Anthropic."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from executor.agents.sections import identity
from rota_common.testing.openai_server import openai_server
from tests.prompts.questions import QUESTIONS, Asker

WRITE = "ROTA_WRITE_PROMPTS"
"""Set in the environment, the snapshots are written anew; their difference is to be read like code."""

pytestmark = pytest.mark.integration

FORMS = ("openai", "anthropic")


class Readable(yaml.SafeDumper):
    """YAML in which each line of a prompt is a line; it reads as the same body."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


Readable.add_representer(str, _text)


def shown(body: dict[str, Any]) -> str:
    return yaml.dump(body, Dumper=Readable, sort_keys=False, allow_unicode=True, width=10_000)


@pytest.mark.parametrize("form", FORMS)
async def test_the_bytes_of_a_prompt_are_those_that_were_read_and_agreed_on(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:  # EX-37 DEC-55
    monkeypatch.setattr(identity, "platform", SimpleNamespace(node=lambda: "host", system=lambda: "Linux"))
    folder = Path(__file__).parent / form
    async with openai_server(lambda asked: "fine") as server:
        ask = Asker(tmp_path, form, server.url if form == "openai" else server.anthropic_url)
        for name, question in QUESTIONS.items():
            with subtests.test(name):
                server.asked.clear()
                await question(ask)
                (asked,) = server.asked
                file, text = folder / f"{name}.txt", shown(asked.body)
                assert yaml.safe_load(text) == asked.body
                if os.environ.get(WRITE):
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(text, encoding="utf-8")
                assert text == file.read_text(encoding="utf-8"), f"read the difference, then set {WRITE}=1 to keep it"
    assert {file.stem for file in folder.iterdir()} == {*QUESTIONS}
