"""A robot's canary, from `rota apply --canary` to the prompts of its runs and their figures."""

import asyncio
import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rota.api_error import ApiError
from rota.applying import Options, apply_all
from rota.client import Api
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.openai_server import ModelRequest, Reply, openai_server
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.robots.robot import parse_definition
from tests.integration.executor.harness import kind
from tests.integration.path.harness import System, a_system

TRIED = 24
CANARY = "/robots/writer/canary"
ANSWERS = {
    "goals": "## Goals\n1. Write it",
    "tasks": json.dumps({"tasks": [{"id": "t1", "description": "Write", "executor_id": "experts.text-writer"}]}),
    "delivery": json.dumps({"content": {"summary": "It is written.", "body": "# Written"}}),
}


class Model:
    """`seen`: by run, what it was asked for, with the revisions that the prompts name."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def answer(self, asked: ModelRequest) -> str | Reply:
        others = r'<material-\w+ name="(?:pending|since then)">.*?</material-\w+>'  # about runs beside this one
        said = re.sub(others, "", str(asked.body["messages"]))
        names, marks = re.findall(r"request number (\w+)", said), {*re.findall(r"Write as revision (\w+)", said)}
        if names and marks:
            self.seen[names[0]][kind(asked).partition(":")[0]] |= marks
        if kind(asked) == "delivery" and marks == {"two"} and int(names[0][1:]) % 2:
            return Reply(400, "no such model")
        return ANSWERS.get(kind(asked), "Well.")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def system(
    model: Model, tmp_path: Path, nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> AsyncIterator[System]:
    async with openai_server(model.answer) as server:
        environ = {"OPENAI_API_KEY": "sk", "OPENAI_BASE_URL": server.url, "OPENAI_MODEL": "usual"}
        where = {"nats_url": nats.url, "mongo_url": mongo_url, "mongo_prefix": mongo_prefix}
        async with a_system(tmp_path / "rota", connector="openai", environ=environ, **where) as made:
            yield made


async def apply(system: System, mark: str, *, canary: int | None = None) -> dict[str, Any]:
    config: dict[str, Any] = {
        "identity": {"role": "Writes", "duties": [f"Write as revision {mark}"]},
        "resources": {"agents": ["experts.text-writer"]},
        "executor": {"planning": "always"},
    }
    config |= {"learn": {"on": False}, "quota": {"max": 10, "queue": 100}}
    robot = parse_definition({"member_id": "writer", "display_name": "W", "robot_config": config})
    [done] = [each async for each in apply_all(system.api, [robot], Options(canary=canary))]
    return done


async def runs(system: System, names: list[str]) -> dict[str, ExecStatus]:
    """How runs that are asked for at once have ended, by name."""

    async def one(name: str) -> ExecStatus:
        return (await system.ended(await system.asked("writer", f"request number {name}"))).status

    return dict(zip(names, await asyncio.gather(*(one(name) for name in names)), strict=True))


# F18
async def test_each_run_is_its_revisions_from_start_to_end_and_counts_there(model: Model, system: System) -> None:
    assert (await apply(system, "one"))["outcome"] == "created"
    assert await apply(system, "two", canary=50) == {"member_id": "writer", "outcome": "changed", "rev": 2}
    assert (await apply(system, "two", canary=50))["outcome"] == "unchanged"
    ended = await runs(system, [f"c{number}" for number in range(TRIED)])
    assert model.seen.keys() == ended.keys()
    began = {name: "".join(sorted(set[str]().union(*seen.values()))) for name, seen in model.seen.items()}
    assert {*began.values()} == {"one", "two"}, "and no run was both"
    assert all(seen.keys() >= {"goals", "tasks", "run", "delivery"} for seen in model.seen.values())

    failed = [name for name, which in began.items() if which == "two" and int(name[1:]) % 2]
    assert [name for name, status in ended.items() if status is not ExecStatus.COMPLETED] == [
        name for name in ended if name in failed
    ]
    counts, figures = Counter(began.values()), await system.api.of_team("GET", CANARY)
    assert [(each["rev"], each["runs"], each["completed"], each["failed"]) for each in figures["counts"]] == [
        (1, counts["one"], counts["one"], 0),
        (2, counts["two"], counts["two"] - len(failed), len(failed)),
    ]

    other = str((await system.admin.create_team("other"))["api_key"])
    async with Api(system.stack.url, "other", key=other) as theirs:
        with pytest.raises(ApiError, match="team other has no robot writer"):
            await theirs.of_team("GET", CANARY)

    await system.api.of_team("POST", f"{CANARY}/promote")
    await apply(system, "three", canary=99)
    await system.api.of_team("POST", f"{CANARY}/abort")
    after = await runs(system, ["c100", "c102", "c104"])
    assert {*after.values()} == {ExecStatus.COMPLETED}
    assert {mark for name in after for marks in model.seen[name].values() for mark in marks} == {"two"}
