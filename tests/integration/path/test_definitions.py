"""A team's own agents and their connector, from the API to the model: changed, rolled back and tried under load."""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota.applying import apply_all
from rota.client import Api
from rota.errors import CliError
from rota.kinds import read_all
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.openai_server import Completion, ModelRequest, Reply, openai_server
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.harness import kind
from tests.integration.path.harness import System, a_system

RUNS, CHANGES, TRIED = 10, 100, 24
AGENTS = ("experts.scorer", "experts.writer")
PLAN = [{"id": name, "description": f"Use {name}", "executor_id": name} for name in AGENTS]
ANSWERS = {
    "goals": "## Goals\n1. Score it, then write",
    "tasks": json.dumps({"tasks": PLAN}),
    "delivery": json.dumps({"content": {"summary": "It is written.", "body": "# Written"}}),
}
READER, READS = "You read skills.", ("skill_search", {"query": "offers"})
State = tuple[str, str, str]
"""Of one set: the numbers in the prompts of both agents and in the model's name."""


class Team:
    """Its definitions, of which each change has a number of its own, and the model that sees them.

    `made`: the states of the sets, one after another; `seen`: what the model saw of each run, by agent.
    """

    def __init__(self) -> None:
        self.api: Api | None = None
        self.url = ""
        self.number, self.applied = 0, ""
        self.made: asyncio.Queue[State] = asyncio.Queue()
        self.seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._lock = asyncio.Lock()

    async def change(self) -> None:
        """The next numbers, or for each fifth time those of before, of one agent alone."""
        async with self._lock:
            if self.number >= CHANGES:
                return
            self.number += 1
            if self.number % 5 == 0:
                await self.of_team("POST", f"/definitions/Agent/{AGENTS[0]}/rollback", json={})
                self.made.put_nowait(await self.rolled_back())
            else:
                await self.apply(str(self.number))
                self.made.put_nowait((self.applied, self.applied, self.applied))

    async def apply(self, number: str, **more: Any) -> Any:
        self.applied = number
        agents = [(name, {"prompt": f"You are {name}. Set {number}.", "connector": "own"}) for name in AGENTS]
        options = {"model": f"model-{number}", "host": self.url, "key": "$SECRET.OWN"}
        own = {"kind": "Connector", "id": "own", "spec": {"label": "Own", "type": "openai", "options": options}}
        definitions = [{"kind": "Agent", "id": name, "spec": spec} for name, spec in agents]
        return await self.of_team("POST", "/definitions", json={"definitions": [*definitions, own], **more})

    async def rolled_back(self) -> State:
        """Only the first agent is ever rolled back: the others have the last numbers that were applied."""
        spec = (await self.of_team("GET", f"/definitions/Agent/{AGENTS[0]}"))["spec"]
        found = re.search(r"Set (\w+)\.", spec["prompt"])
        assert found is not None
        return found[1], self.applied, self.applied

    async def of_team(self, method: str, path: str, **request: Any) -> Any:
        assert self.api is not None
        return await self.api.of_team(method, path, **request)

    async def known(self) -> None:
        """Once all executors know the current set."""
        async with asyncio.timeout(PATIENCE_S):
            while (seen := await self.of_team("GET", "/definitions/seen"))["seen"] != seen["executors"] or not seen[
                "seen"
            ]:
                await asyncio.sleep(0.1)

    async def answer(self, asked: ModelRequest) -> str | Reply | Completion:
        if READER in asked.system:
            return "A wheel. Cordially" if "End with Cordially" in asked.words else Completion([READS])
        found = re.search(r"request number (\w+)", str(asked.body["messages"]))
        assert found is not None
        of_set = re.search(r"You are ([\w.]+)\. Set (\w+)\.", asked.system)
        if of_set is not None:
            assert asked.headers["authorization"] == "Bearer sk-of-the-team"
            seen = self.seen[found[1]]
            seen[of_set[1]].add(of_set[2])
            seen["model"].add(asked.body["model"].removeprefix("model-"))
        if of_set is not None and of_set[2] == "broken":
            return Reply(400, "no such model")
        for _ in range(3):
            await self.change()
        return ANSWERS.get(kind(asked), "Well.")


@pytest.fixture
async def team() -> AsyncIterator[Team]:
    made = Team()
    async with openai_server(made.answer) as server:
        made.url = server.url
        yield made


@pytest.fixture
async def system(
    team: Team, tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> AsyncIterator[System]:
    environ = {"OPENAI_API_KEY": "sk-of-the-operator", "OPENAI_BASE_URL": team.url, "OPENAI_MODEL": "usual"}
    where = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
    async with a_system(tmp_path / "rota", connector="openai", environ=environ, **where) as made:
        team.api = made.api
        await made.api.of_team("PUT", "/secrets/OWN", json={"value": "sk-of-the-team"})
        config: dict[str, Any] = {
            "identity": {"role": "Writes", "duties": ["Write"]},
            "resources": {"agents": [*AGENTS]},
        }
        config |= {"learn": {"on": False}, "quota": {"max": 10, "queue": 100}}
        robot = {"member_id": "writer", "display_name": "W", "robot_config": config}
        await made.api.create_robot(robot)
        yield made


async def started(system: System, names: list[str]) -> dict[str, dict[str, Any]]:
    """Runs that are asked for at once, by name."""
    asked = (system.asked("writer", f"request number {name}") for name in names)
    return dict(zip(names, await asyncio.gather(*asked), strict=True))


async def ended(system: System, runs: dict[str, dict[str, Any]]) -> dict[str, ExecStatus]:
    found = await asyncio.gather(*map(system.ended, runs.values()))
    return {name: each.status for name, each in zip(runs, found, strict=True)}


# F18
async def test_no_run_sees_a_mixture_while_definitions_change_and_are_rolled_back(team: Team, system: System) -> None:
    await team.apply("0")
    await team.known()
    runs = await started(system, [f"e{number}" for number in range(RUNS)])
    states = [("0", "0", "0")]
    for _ in range(CHANGES):
        async with asyncio.timeout(PATIENCE_S):
            states.append(await team.made.get())
    assert {*(await ended(system, runs)).values()} == {ExecStatus.COMPLETED}
    assert team.seen.keys() == runs.keys()
    for name, seen in team.seen.items():
        assert {part: len(numbers) for part, numbers in seen.items()} == dict.fromkeys((*AGENTS, "model"), 1), name
        whole = tuple(next(iter(seen[part])) for part in (*AGENTS, "model"))
        assert whole in states, name


# F18
async def test_a_canarys_figures_are_those_of_its_runs(team: Team, system: System) -> None:
    team.number = CHANGES  # no more of them
    await team.apply("good")
    assert (await team.apply("broken", canary=50))["rev"] == 2
    await team.known()
    statuses = await ended(system, await started(system, [f"c{number}" for number in range(TRIED)]))
    began = {name: next(iter(seen["model"])) for name, seen in team.seen.items()}
    broken = [name for name, which in began.items() if which == "broken"]
    assert {statuses[name] for name in broken} == {ExecStatus.FAILED}
    assert 0 < len(broken) < TRIED
    figures = (await team.of_team("GET", "/definitions/canary"))["counts"]
    assert [(each["rev"], each["runs"], each["completed"], each["failed"]) for each in figures] == [
        (1, TRIED - len(broken), TRIED - len(broken), 0),
        (2, len(broken), 0, len(broken)),
    ]
    await team.of_team("POST", "/definitions/canary/abort")
    await team.known()
    after = await started(system, ["after1", "after2", "after3"])
    assert {*(await ended(system, after)).values()} == {ExecStatus.COMPLETED}


async def test_what_can_not_work_is_refused_by_the_executor_that_knows_the_platforms(
    team: Team, system: System
) -> None:
    wrong = {"kind": "Agent", "id": "a", "spec": {"prompt": "x", "connector": "fats"}}
    with pytest.raises(CliError) as refused:
        await team.of_team("POST", "/definitions", json={"definitions": [wrong]})
    [detail] = refused.value.details
    assert detail.startswith("Agent/a connector: expected the id of a connector, got fats: apply one")
    await team.apply("0")
    with pytest.raises(CliError) as refused:
        await team.of_team("DELETE", "/definitions/Connector/own")
    assert [detail.partition(":")[0] for detail in refused.value.details] == [
        f"Agent/{name} connector" for name in AGENTS
    ]
    other = str((await system.admin.create_team("other"))["api_key"])
    async with Api(system.stack.url, "other", key=other) as theirs:
        call = {"messages": [{"role": "user", "content": "Hi"}]}
        answer = await theirs.of_team("POST", f"/agents/{AGENTS[0]}/call", json=call)
        assert "there is no agent" in answer["error"]


async def test_a_skill_is_applied_from_its_folder_read_in_a_call_and_kept_while_it_is_named(
    team: Team, system: System, tmp_path: Path
) -> None:
    folder = tmp_path / "team"
    (folder / "offers").mkdir(parents=True)
    (folder / "offers" / "SKILL.md").write_text("---\nname: offers\ndescription: Offers\n---\nEnd with Cordially.")
    reader = f"kind: Agent\nid: experts.reader\nprompt: {READER}\nskills: [offers]\nconnector: openai"
    (folder / "reader.yaml").write_text(reader)
    assert team.api is not None
    applied = [f"{each['kind']}/{each['id']}" async for each in apply_all(team.api, read_all([folder]))]
    assert applied == ["Skill/offers", "Agent/experts.reader"]
    await team.known()
    call = {"messages": [{"role": "user", "content": "An offer, please."}]}
    answer = await team.of_team("POST", "/agents/experts.reader/call", json=call)
    assert (answer["content"], answer["tools"][0]["name"], answer["error"]) == (
        "A wheel. Cordially",
        "skill_search",
        "",
    )
    with pytest.raises(CliError) as refused:
        await team.of_team("DELETE", "/definitions/Skill/offers")
    assert "Agent/experts.reader skills: expected the id of a skill, got offers" in refused.value.details[0]
    shown = await team.of_team("GET", "/definitions/Skill/offers")
    assert shown["spec"] == {"description": "Offers", "text": "End with Cordially."}
