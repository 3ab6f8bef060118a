"""A robot's files on real servers: what one run has written, the next one reads."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memory.adapters.mongo_knowledge_bases import MongoKnowledgeBases
from memory.adapters.mongo_workspaces import MongoWorkspaces
from memory.domain import Owner
from memory.robot_files import RobotFiles
from rota_common.bus.robots import Robots
from rota_common.bus.router import Router
from rota_common.clock import now
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_common.testing.openai_server import OpenAIServer, openai_server
from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import Script
from tests.integration.executor.harness import Harness, kind, scripted

SCORING = "run: Score it"
NOTE = "Globex pays late."


@pytest.fixture
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server(Script()) as server:
        yield server


@pytest.fixture
async def files(system: Harness, mongo_url: str, mongo_prefix: str) -> AsyncIterator[MongoWorkspaces]:
    """The memory's part of workspaces, with its own adapters."""
    mongo = Mongo(mongo_url, f"{mongo_prefix}_memory")
    store = MongoWorkspaces(mongo)
    await store.prepare()
    service, router = Service("memory", system.nats_url), Router()
    use = RobotFiles(workspaces=store, bases=MongoKnowledgeBases(mongo.database), robots=Robots(service.bus), clock=now)
    router.answer(catalog.WRITE_FILE, use.write)
    router.answer(catalog.READ_FILE, use.read)
    service.include(router)
    await service.start()
    await service.started.wait()
    yield store
    await service.stop(1)
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def calling(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


async def test_a_robot_reads_in_one_run_what_it_wrote_in_another(
    system: Harness, model: OpenAIServer, files: MongoWorkspaces, tmp_path: Path
) -> None:  # EX-99 DEC-53
    resources = {"agents": ["experts.scorer", "experts.writer"], "tools": ["read_file", "write_file"]}
    await system.keep(a_robot(config={"resources": resources}, rev=2))
    answers = [calling("file_write", path="memory/globex.md", content=NOTE), "87 of 100"]
    async with system.executor(**scripted(tmp_path / "connectors", model.url)):
        model.script = Script(**{SCORING: answers})
        await system.request("e1")
        assert (await system.over("e1")).status is ExecStatus.COMPLETED
        model.script = Script(**{SCORING: [calling("read_file", path="memory/globex.md"), "12 of 100"]})
        await system.request("e2")
        done = await system.until(lambda execution: execution.status.over, "e2")
    (read,) = [use for turn in done.results[0].turns for each in turn.rounds for use in each.uses]
    assert (read.server, read.error, read.output and read.output.inline) == ("rota", None, NOTE)
    last = [asked for asked in model.asked if kind(asked) == SCORING][-1]
    assert NOTE in last.words
    (kept,) = await files.list(Owner(TEAM, MEMBER))
    assert (kept.path, kept.revision) == ("memory/globex.md", 1)
