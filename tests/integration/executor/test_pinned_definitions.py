"""Runs while their team's definitions change: each goes on with the set that it began with."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from rota_common.team_secrets import CachedSecrets
from rota_common.testing.openai_server import ModelRequest, OpenAIServer, openai_server
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.definitions.definition import (
    Definition,
    DefinitionKind,
    DefinitionSet,
    definition_key,
    entry,
    set_key,
)
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.trigger import Message
from rota_contracts.streams import DEFINITIONS_BUCKET
from tests.integration.executor.fixtures import ANSWERS
from tests.integration.executor.harness import Harness, kind

RUNS, OTHER = 8, "globex"
AGENTS = ("experts.scorer", "experts.writer")


class Team:
    """A team's two agents and their connector, whose prompts and model name the number of the set."""

    def __init__(self, system: Harness, server: OpenAIServer, team: str = TEAM) -> None:
        self._system, self._host = system, server.url
        self._team, self.rev = team, 0
        self._lock = asyncio.Lock()

    async def write(self) -> None:
        """The next set, as the gateway writes it."""
        async with self._lock:
            self.rev += 1
            bucket = await self._system.services["trigger-gateway"].bus.jetstream.key_value(DEFINITIONS_BUCKET)
            made = [self._agent(name) for name in AGENTS] + [self._connector()]
            for one in made:
                await bucket.put(definition_key(self._team, one.kind, one.id, one.rev), one.model_dump_json().encode())
            entries = {entry(one.kind, one.id): one.rev for one in made}
            whole = DefinitionSet(team_id=self._team, rev=self.rev, entries=entries).model_dump_json().encode()
            await bucket.put(set_key(self._team, self.rev), whole)
            await bucket.put(set_key(self._team), whole)

    def _agent(self, name: str) -> Definition:
        return self._of(DefinitionKind.AGENT, name, {"prompt": f"You are {name}. Set {self.rev}.", "connector": "own"})

    def _connector(self) -> Definition:
        options = {"model": f"model-{self.rev}", "host": self._host, "key": "$SECRET.OWN"}
        return self._of(DefinitionKind.CONNECTOR, "own", {"label": "Own", "type": "openai", "options": options})

    def _of(self, kind: DefinitionKind, name: str, spec: dict[str, Any]) -> Definition:
        return Definition(team_id=self._team, kind=kind, id=name, rev=self.rev, spec=spec, written_at=NOON)


async def read(team: str, names: Collection[str]) -> Mapping[str, str]:
    return {"OWN": f"sk-of-{team}"}


async def call(system: Harness, team: str, execution_id: str | None = None) -> AgentReply:
    given: dict[str, Any] = {"call_id": f"c-{team}-{execution_id}", "team_id": team, "member_id": MEMBER}
    question = CallAgent(
        **given,
        assistant_id="experts.writer",
        messages=[Message(role="user", content=f"request number {execution_id}!")],
        execution_id=execution_id,
    )
    return await system.services["validator"].ask(catalog.CALL_AGENT, question)


class Provider:
    """A model's server. `seen`: the sets that each run was asked with, by their prompts and models; each question is
    followed by three new sets. `keys`: those of questions to the team's own connector."""

    def __init__(self) -> None:
        self.team: Team | None = None
        self.seen: dict[str, set[str]] = defaultdict(set)
        self.keys: set[str] = set()

    async def answer(self, asked: ModelRequest) -> str:
        assert self.team is not None
        found = re.search(r"request number (\w+)", str(asked.body["messages"]))
        assert found is not None
        of_set = re.findall(r"Set (\d+)\.", asked.system)
        self.seen[found[1]] |= {*of_set, *re.findall(r"model-(\d+)", asked.body["model"])}
        if of_set:
            self.keys.add(asked.headers["authorization"])
        for _ in range(3):
            await self.team.write()
        return ANSWERS.get(kind(asked), "Well.")


async def test_a_run_finishes_with_the_set_that_it_began_with(
    system: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("executor.adapters.real.asked_of_the_gateway", lambda ask: CachedSecrets(read))
    provider = Provider()
    seen, folder = provider.seen, tmp_path
    async with openai_server(provider.answer) as server:
        team = provider.team = Team(system, server)
        await system.keep(a_robot(config={"resources": {"agents": [*AGENTS]}}, rev=2))
        options = f"{{model: usual, host: '{server.url}', key: $ENV.KEY}}"
        (folder / "usual.yaml").write_text(f"label: U\nteams: '*'\ntype: openai\noptions: {options}\n")
        await team.write()
        own = {"environ": {"KEY": "sk-operator"}, "allow_private_targets": "127.0.0.0/8"}
        async with system.executor(connector="usual", connectors_dir=folder, **own):
            for number in range(RUNS):
                said = {"action": "task.add", "messages": [{"content": f"request number e{number}"}]}
                await system.request(f"e{number}", type="human", input=said)
            done = await system.finished(RUNS)
            assert {fact.status for fact in done} == {"completed"}
            assert team.rev > 100
            assert {run: len(sets) for run, sets in seen.items()} == {f"e{number}": 1 for number in range(RUNS)}
            before = {run: {*sets} for run, sets in seen.items()}
            assert (await call(system, TEAM, "e0")).content == "Well."
            assert seen["e0"] == before["e0"]  # a judge of the run asks the same
            newest = str(team.rev)
            assert (await call(system, TEAM)).content == "Well."
            assert seen["None"] == {newest}
            assert "there is no agent experts.writer" in (await call(system, OTHER)).error
            assert (await system.replay("e0")).same
    assert provider.keys == {f"Bearer sk-of-{TEAM}"}
