"""10,000 changes of a database whose reader is killed six times: 10,000 triggers, each once (F21)."""

import asyncio
import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats as nats_py
import pytest
from pymongo import monitoring

from rota_common.runtime import logs
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from rota_common.testing.team_secrets import ForEveryTeam
from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.envelope import MSG_ID, parse_event
from tests.integration.gateway.fixtures import IGNORES_CUT_OFF_SOCKETS, Crm, add_robot, add_source, reading, subscribed
from tests.integration.gateway.harness import Gateway, messages, settings
from trigger_gateway.app import build
from trigger_gateway.settings import Settings

pytestmark = IGNORES_CUT_OFF_SOCKETS


CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["trigger_gateway.app", "motor.motor_asyncio", "nats"])
"""Loading Python's packages takes longer than all else that a start does: it is done once."""

DOCUMENTS = 4000
CHANGES = 10_000
KILLS = (700, 2300, 4100, 6300, 8500)
"""How many triggers are stored when the reader dies, wherever it is; the first dies before its third note."""

LEASE = 1.5
TOGETHER = 100
STEP_S = 100
"""From one kill to the next; the slower the disk, the longer."""


class Death(monitoring.CommandListener):
    """Before its n-th note of changes it has dealt with: it has stored all their triggers."""

    def __init__(self, notes: int) -> None:
        self._left = notes

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name == "update" and event.command["update"] == "readings":
            changes = [each["u"] for each in event.command["updates"]]
            self._left -= any(isinstance(each, dict) and each.get("$inc", {}).get("changes") for each in changes)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Of no interest."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Of no interest."""


async def _live(given: Settings, environ: dict[str, str]) -> None:
    service = build(given, team_secrets=ForEveryTeam(environ)).service
    await service.start()
    await asyncio.Event().wait()


def _run(given: Settings, environ: dict[str, str], log: Path, notes: int) -> None:
    """Forever, or until it is about to note so many times what it has done."""
    if notes:
        monitoring.register(Death(notes))
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), sys.stderr.fileno())
    logs.configure()
    asyncio.run(_live(given, environ))


@asynccontextmanager
async def prepared(nats_url: str, crm: Crm, prefix: str) -> AsyncIterator[Gateway]:
    """A team with a source and a robot, made by a gateway that never finds the database's address."""
    async with reading(nats_url, crm.url, prefix, {}) as gateway:
        gateway.key = await gateway.make_team()
        await add_robot(gateway, subscribed())
        await add_source(gateway, crm.source())
        yield gateway


async def change(crm: Crm) -> None:
    """4,000 inserts, 4,000 updates and 2,000 deletes, some of them between the kills."""
    for start in range(0, DOCUMENTS, TOGETHER):
        some = range(start, start + TOGETHER)
        await crm.leads.insert_many([{"_id": number, "stage": "new"} for number in some])
        await crm.leads.update_many({"_id": {"$in": list(some)}}, {"$set": {"stage": "won"}})
        await crm.leads.delete_many({"_id": {"$in": [number for number in some if number % 2]}})
        await asyncio.sleep(0.05)


async def stored_ids(url: str) -> tuple[list[str], list[tuple[str, Any]]]:
    """Of all triggers in the stream: their messages' ids, and which change each one is."""
    client = await nats_py.connect(url)
    try:
        jetstream = client.jetstream()
        state = (await jetstream.stream_info("TRIGGERS")).state
        ids, changes = list[str](), list[tuple[str, Any]]()
        for start in range(state.first_seq, state.last_seq + 1, TOGETHER):
            some = range(start, min(start + TOGETHER, state.last_seq + 1))
            for message in await asyncio.gather(*(jetstream.get_msg("TRIGGERS", number) for number in some)):
                event = parse_event(
                    TRIGGER_RECEIVED.payload, message.headers, message.data or b"", expected=TRIGGER_RECEIVED.type
                )
                ids += [event.data.trigger_id, (message.headers or {})[MSG_ID]]
                data = event.data.input.data
                changes.append((data["operation"], data["document_key"]["_id"]))
    finally:
        await client.close()
    return ids, changes


class Readers:
    """One after the other."""

    def __init__(self, given: Settings, environ: dict[str, str], folder: Path) -> None:
        self._given = (given, environ, folder / "readers.log")
        self.process: Any = None

    def start(self, *, notes: int = 0) -> None:
        self.process = CONTEXT.Process(target=_run, args=(*self._given, notes), daemon=True)
        self.process.start()

    async def dead(self) -> None:
        while self.process.is_alive():
            await asyncio.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.process.close()
        self.process = None


@pytest.mark.once
@pytest.mark.soak
async def test_each_change_is_one_trigger_however_often_its_reader_is_killed(
    nats: EmbeddedServer, crm: Crm, mongo_prefix: str, tmp_path: Path
) -> None:  # TG-12
    async with prepared(nats.url, crm, mongo_prefix):
        pass
    store = Mongo(crm.url, f"{mongo_prefix}_gateway")
    readers = Readers(settings(nats.url, crm.url, mongo_prefix, reading_lease=LEASE), {"CRM_URL": crm.url}, tmp_path)
    readers.start(notes=3)
    changing = asyncio.create_task(change(crm))
    try:
        async with asyncio.timeout(STEP_S):
            await readers.dead()
        noted = await store.database["readings"].find_one({})
        assert noted is not None
        assert await messages(nats.url) > noted["changes"] > 0
        for count in KILLS:
            readers.kill()
            readers.start()
            await until_stored(nats.url, count)
        readers.kill()
        readers.start()
        async with asyncio.timeout(STEP_S):
            await changing
        await until_stored(nats.url, CHANGES)
        await until_noted(store)
    finally:
        changing.cancel()
        readers.kill()
        await store.close()
    ids, changes = await stored_ids(nats.url)
    assert len(changes) == CHANGES
    assert Counter(ids).most_common(1)[0][1] == 1
    assert Counter(operation for operation, _ in changes) == {"insert": 4000, "update": 4000, "delete": 2000}
    assert Counter(changes).most_common(1)[0][1] == 1


async def until_stored(url: str, count: int) -> None:
    async with asyncio.timeout(STEP_S):
        while await messages(url) < count:
            await asyncio.sleep(0.05)


async def until_noted(store: Mongo) -> None:
    """The last reader has nothing more to do."""
    async with asyncio.timeout(STEP_S):
        while (noted := await store.database["readings"].find_one({})) is None or noted["changes"] < CHANGES:
            await asyncio.sleep(0.05)
