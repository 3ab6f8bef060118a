"""A removed team leaves nothing in any store but its tombstone and its audit trail; others notice nothing."""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import nats
import pytest
from motor.motor_asyncio import AsyncIOMotorClient
from qdrant_client import QdrantClient

from delivery_center.adapters.team_documents import TEAM_DOCUMENTS as OF_DELIVERY
from executor.adapters.team_documents import TEAM_DOCUMENTS as OF_EXECUTOR
from learner.adapters.team_documents import TEAM_DOCUMENTS as OF_LEARNER
from memory.adapters.team_documents import TEAM_DOCUMENTS as OF_MEMORY
from rota.api_error import ApiError
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.streams import ROBOTS_BUCKET
from scheduler.adapters.team_documents import TEAM_DOCUMENTS as OF_SCHEDULER
from tests.integration.path.harness import System, a_stack, a_team, example
from trigger_gateway.adapters.team_documents import TEAM_DOCUMENTS as OF_GATEWAY

COVERED = {
    "gateway": OF_GATEWAY,
    "scheduler": OF_SCHEDULER,
    "executor": OF_EXECUTOR,
    "delivery": OF_DELIVERY,
    "learner": OF_LEARNER,
    "memory": OF_MEMORY,
}
STAYS = {"gateway.teams", "gateway.audit"}
SHORT_LIVED = {"gateway.rates"}
GOES, STAYING = "team-that-goes", "team-that-stays"

Ids = dict[str, set[str]]


class Databases:
    """All databases of a stack."""

    def __init__(self, url: str, prefix: str) -> None:
        self._client: AsyncIOMotorClient[dict[str, Any]] = AsyncIOMotorClient(url)
        self._prefix = f"{prefix}_"

    async def collections(self) -> set[tuple[str, str]]:
        names = [name for name in await self._client.list_database_names() if name.startswith(self._prefix)]
        return {
            (name.removeprefix(self._prefix), collection)
            for name in names
            for collection in await self._client[name].list_collection_names()
        }

    async def naming(self, team: str) -> Ids:
        """The documents in which the team's name stands anywhere, by collection."""
        found: Ids = defaultdict(set)
        for service, collection in await self.collections():
            async for document in self._client[self._prefix + service][collection].find():
                if team in str(document):
                    found[f"{service}.{collection}"].add(str(document["_id"]))
        return found

    async def left(self, team: str) -> Ids:
        """What of the team is there after `PATIENCE_S`, or as soon as it is only what stays."""
        until = asyncio.get_running_loop().time() + PATIENCE_S
        while found := await self.naming(team):
            if found.keys() <= STAYS | SHORT_LIVED or asyncio.get_running_loop().time() > until:
                break
            await asyncio.sleep(0.2)
        return found

    def close(self) -> None:
        self._client.close()


async def filled(system: System) -> None:
    """The team has something of each kind, and a run that is over."""
    api = system.api
    await api.of_team("POST", "/members", json={"member_id": "ada", "email": "ada@example.com"})
    await api.of_team("PUT", "/secrets/CRM_TOKEN", json={"value": "a secret of the team"})
    await api.create_key("member", "program")
    for name in ("lead-processor", "seo-content"):
        await api.create_robot(example(name, system.hooks.url))
    await api.put_knowledge("policies", [{"id": "refunds", "content": "Refunds take 14 days."}])
    await api.add_subscription({"channel": "sales", "subscriber": "ada"})
    await api.of_team("POST", "/suppressions", json={"address": "gone@example.com"})
    await api.of_team("POST", "/attachments", params={"name": "a.txt"}, content=b"some text")
    await api.of_team("PUT", "/robots/lead-processor/files/memory/notes.md", content=b"a note")
    await api.of_team("PUT", "/agents/rota.title/files/USER.md", params={"member": "ada"}, content=b"I am Ada.")
    planned = {
        "action": "plan.add",
        "plan_time": "2030-01-01T09:00:00Z",
        "messages": [{"role": "user", "content": "x"}],
    }
    await api.intervene("seo-content", planned)
    execution = await system.ended((await system.post_lead())["triggers"][0])
    assert execution.status is ExecStatus.COMPLETED, execution.error


async def definitions(nats_url: str) -> set[str]:
    """The teams whose robots other services can read."""
    client = await nats.connect(nats_url)
    try:
        keys = await (await client.jetstream().key_value(ROBOTS_BUCKET)).keys()
        return {key.partition(".")[0] for key in keys}
    finally:
        await client.close()


def points_naming(team: str, folder: Path) -> int:
    """The number of points in which the team's name stands."""
    client = QdrantClient(path=str(folder))
    try:
        names = [each.name for each in client.get_collections().collections]
        points = [point for name in names for point in client.scroll(name, limit=1000, with_payload=True)[0]]
        return sum(team in str(point.payload) for point in points)
    finally:
        client.close()


async def test_a_removed_team_leaves_nothing_and_others_notice_nothing(
    shared_nats: EmbeddedServer, mongo_server: EmbeddedServer, prefix: str, tmp_path: Path
) -> None:
    databases = Databases(mongo_server.url, prefix)
    servers = {"nats_url": shared_nats.url, "mongo_url": mongo_server.url, "mongo_prefix": prefix}
    async with (
        a_stack(tmp_path, **servers) as on,
        a_team(on, GOES) as gone,
        a_team(on, STAYING) as stays,
    ):
        await filled(gone)
        await filled(stays)
        kept = await databases.naming(STAYING)
        assert (await databases.naming(GOES)).keys() >= kept.keys() - SHORT_LIVED
        await gone.post_lead()  # its run is under way
        await gone.admin.remove_team(GOES)
        with pytest.raises(ApiError, match="this key is unknown"):
            await gone.api.robots()
        left = await databases.left(GOES)
        assert left.keys() - SHORT_LIVED == STAYS, left
        assert (len(left["gateway.teams"]), await definitions(on.stack.nats_url)) == (1, {STAYING})
        now = await databases.naming(STAYING)
        assert {name: ids - now[name] for name, ids in kept.items() if ids - now[name]} == {}
        assert (await stays.ended((await stays.post_lead())["triggers"][0])).status is ExecStatus.COMPLETED
        unknown = {(name, each) for name, each in await databases.collections() if each not in COVERED.get(name, {})}
        assert unknown == set(), "each collection needs its line in adapters/team_documents.py of its service"
    assert points_naming(GOES, tmp_path / "qdrant") == 0
    assert points_naming(STAYING, tmp_path / "qdrant") > 0
    databases.close()
