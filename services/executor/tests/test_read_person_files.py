"""Files of context in a call of a person: the agent's, the person's, and what stands where."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from executor.adapters.in_memory import InMemoryCalls
from executor.adapters.in_memory_runs import InMemoryRuns
from executor.agents.connectors import Connectors
from executor.agents.prompt_files import Agents
from executor.agents.team_view import TeamViews
from executor.call_agents import CallAgents, LeaseSettings
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Prompt
from executor.read_person_files import ReadPersonFiles
from executor.steps.step_runner import Models
from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import TEAM
from rota_contracts.catalog import READ_FILE, SEED_FILES
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.messages.workspace import FileRefusal, FileReply, ReadFile, SeededFiles, SeedFiles
from rota_contracts.model import ALL

OWN = {
    "AGENTS.md": "---\nteams: ['*']\ncontext: {context}\n---\nYou keep what is found.",
    "SOUL.md": "You are dry.",
    "USER.md": "They sell shoes.",
    "BOOTSTRAP.md": "Read the price list.",
    "MEMORY.md": "Prices rise in May.",
}
MAKE = pytest.mark.parametrize("context", ["predefined", "open"])


@dataclass
class Memory:
    """What people have with agents; `away`: it doesn't answer."""

    files: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    refuses: SeededFiles | None = None
    away: bool = False

    async def read(self, request: ReadFile) -> FileReply:
        found = self._of(request).get(request.path)
        return FileReply(content=found, refused=FileRefusal.NOT_FOUND if found is None else None)

    async def seed(self, request: SeedFiles) -> SeededFiles:
        there = self._of(request)
        self.files.setdefault((request.member_id, request.agent_id), {**request.files, **there})
        return self.refuses or SeededFiles(files=self._of(request))

    def _of(self, request: ReadFile | SeedFiles) -> dict[str, str]:
        self.asked.append(request)
        if self.away:
            raise Transient("away")
        return self.files.get((request.member_id, request.agent_id), {})


@dataclass
class World:
    """An executor with one agent, `keeper`; `prompts` are what its model was asked, `failures` its first answers."""

    call: CallAgents
    memory: Memory
    prompts: list[Prompt]
    failures: list[Exception]

    async def __call__(self, call_id: str = "c1", user: str | None = "ann") -> AgentReply:
        given = {"call_id": call_id, "team_id": TEAM, "member_id": ALL, "assistant_id": "keeper", "user_id": user}
        return await self.call(CallAgent.model_validate(given | {"messages": [Message(content="Keep this.")]}))

    @property
    def system(self) -> str:
        return self.prompts[-1].messages[0].text()

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(each.role, each.text()) for each in self.prompts[-1].messages[1:]]


@pytest.fixture
def made(tmp_path: Path) -> Callable[[str], World]:
    def make(context: str) -> World:
        (tmp_path / "keeper").mkdir()
        for name, text in OWN.items():
            (tmp_path / "keeper" / name).write_text(text.replace("{context}", context))
        memory, bus, calls = Memory(), InMemoryBus(), InMemoryCalls()
        prompts, failures = list[Prompt](), list[Exception]()
        bus.answer(READ_FILE, memory.read)
        bus.answer(SEED_FILES, memory.seed)

        class Model:
            async def complete(self, prompt: Prompt) -> ModelReply:
                prompts.append(prompt)
                if failures:
                    raise failures.pop()
                return ModelReply(text="Kept.")

        views = TeamViews(agents=Agents(tmp_path), connectors=Connectors("rehearsal", environ={}))
        call = CallAgents(
            calls=calls,
            runs=InMemoryRuns(),
            models=Models(views=views, real=Model(), rehearsal=Model()),
            clock=now,
            lease=LeaseSettings("me", 10),
            of_person=ReadPersonFiles(ask=bus.ask, calls=calls),
        )
        return World(call, memory, prompts, failures)

    return make


@MAKE
async def test_without_a_person_nothing_is_read_and_the_prompt_is_short(
    made: Callable[[str], World], context: str
) -> None:
    ask = made(context)
    await ask(user=None)
    assert (ask.system, ask.said) == ("You keep what is found.", [("user", "Keep this.")])
    assert ask.memory.asked == []


async def test_a_predefined_agent_has_its_own_files_and_the_persons_user_file(made: Callable[[str], World]) -> None:
    # EX-82
    ask = made("predefined")
    ask.memory.files["ann", "keeper"] = {"USER.md": "I am Ann.", "SOUL.md": "Be loud."}
    await ask()
    order = ["Read the price list.", "You are dry.", "You keep what is found.", "Prices rise in May."]
    assert sorted(order, key=ask.system.index) == order
    assert "shoes" not in ask.system
    [(role, hers), (_, asked)] = ask.said
    assert (role, asked) == ("user", "Keep this.")
    assert "<USER.md>\nI am Ann.\n</USER.md>" in hers
    assert "loud" not in hers
    await ask("c2", user="ben")
    assert "<USER.md>\nThey sell shoes.\n</USER.md>" in ask.system
    assert ask.said == [("user", "Keep this.")]


async def test_an_open_agent_has_the_persons_files_which_begin_as_its_own(made: Callable[[str], World]) -> None:
    # EX-82 EX-83
    ask = made("open")
    await ask()
    assert ask.memory.files["ann", "keeper"] == {name: OWN[name] for name in ("SOUL.md", "USER.md", "BOOTSTRAP.md")}
    assert ask.system == "You keep what is found.\n\n<MEMORY.md>\nPrices rise in May.\n</MEMORY.md>"
    [(_, hers), _] = ask.said
    assert [words for words in ("You are dry.", "They sell shoes.", "Read the price list.") if words not in hers] == []
    ask.memory.files["ann", "keeper"] = {"AGENTS.md": "Answer in rhymes.", "USER.md": "I am Ann."}
    await ask("c2")
    [(role, hers), _] = ask.said
    assert role == "user", "what a person writes is never the operator's word"
    assert "<AGENTS.md>\nAnswer in rhymes.\n</AGENTS.md>\n\n<USER.md>\nI am Ann.\n</USER.md>" in hers
    assert "dry" not in hers + ask.system
    assert "BOOTSTRAP" not in hers


@MAKE
async def test_a_call_that_is_repeated_has_the_prompt_that_it_began_with(
    made: Callable[[str], World], context: str
) -> None:
    ask = made(context)
    ask.memory.files["ann", "keeper"] = {"USER.md": "I am Ann."}
    ask.failures.append(Transient("the model is away"))
    with pytest.raises(Transient):
        await ask()
    ask.memory.files["ann", "keeper"] = {"USER.md": "I am Eve."}
    assert (await ask()).content == "Kept."
    first, second = ask.prompts
    assert first.messages == second.messages
    assert "I am Ann." in ask.said[0][1]


async def test_what_cant_be_read_or_kept_ends_the_call_with_the_reason(made: Callable[[str], World]) -> None:
    ask = made("open")
    ask.memory.away = True
    with pytest.raises(Transient):
        await ask()
    ask.memory.away, ask.memory.refuses = False, SeededFiles(refused=FileRefusal.FULL, reason="delete some")
    assert (await ask("c2")).error == "the files of ann can't be kept: delete some"
    assert ask.prompts == []
