"""A customer's database, and a gateway whose team `acme` reads its changes."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, cast

import httpx
import pytest

from rota_common.stores.mongo import Document, Mongo
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.team_secrets import ForEveryTeam
from rota_contracts.messages.trigger import TriggerReceivedV1
from tests.integration.gateway.harness import Gateway, messages, robot, settings, started, triggers
from trigger_gateway.app import build

IGNORES_CUT_OFF_SOCKETS = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
"""PyMongo (4.20) leaves the socket of a connection that is closed while it is made to the garbage collector."""


class Crm:
    """The collection `leads` of the customer's database."""

    def __init__(self, url: str, prefix: str) -> None:
        self.url, self.name = url, f"{prefix}_crm"
        self._mongo = Mongo(url, self.name)
        self.leads = self._mongo.database["leads"]
        self.client = self._mongo.client

    def source(self, **more: Any) -> Document:
        of = {"name": "crm", "type": "database", "url": "$ENV.CRM_URL", "database": self.name, "collection": "leads"}
        return of | more

    async def later(self, seconds: float) -> None:
        """Return when the database's clock is on by so much. A source begins at its making as exactly as the database
        answers quickly."""
        until = await self._now() + timedelta(seconds=seconds)
        async with asyncio.timeout(PATIENCE_S):
            while await self._now() < until:
                await asyncio.sleep(0.05)

    async def _now(self) -> datetime:
        return cast(datetime, (await self.client.admin.command("hello"))["localTime"])

    async def close(self) -> None:
        await self.client.drop_database(self.name)
        await self._mongo.close()
        gc.collect()  # here, where `IGNORES_CUT_OFF_SOCKETS` holds, and not in another test


@asynccontextmanager
async def reading(
    nats_url: str, mongo_url: str, prefix: str, given: Mapping[str, str], **more: Any
) -> AsyncIterator[Gateway]:
    """A replica whose operator has given every team these secrets."""
    chosen = settings(nats_url, mongo_url, prefix, **{"reading_lease": 2} | more)
    app = build(chosen, team_secrets=ForEveryTeam(given))
    transport = httpx.ASGITransport(app.http, raise_app_exceptions=False)
    async with started(app), httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        yield Gateway(app, nats_url, http)


def subscribed(member: str = "leader", **how: Any) -> dict[str, Any]:
    """A robot that wakes by changes of the source `crm`, or as `how` says."""
    return robot(member, events=[{"type": "database", "source": "crm"} | how])


async def add_robot(gateway: Gateway, definition: Mapping[str, Any]) -> None:
    made = await gateway.call("POST", "/v1/teams/acme/robots", json=definition)
    assert made.status_code == 201, made.text


async def add_source(gateway: Gateway, body: Mapping[str, Any]) -> None:
    made = await gateway.call("POST", "/v1/teams/acme/sources", json=body)
    assert made.status_code == 201, made.text


async def read_source(gateway: Gateway, name: str = "crm") -> dict[str, Any]:
    answer = await gateway.call("GET", f"/v1/teams/acme/sources/{name}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def until(gateway: Gateway, so: Callable[[dict[str, Any]], bool], *, name: str = "crm") -> dict[str, Any]:
    """How the source is read, once it is so."""
    found: dict[str, Any] = {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not so(found := (await read_source(gateway, name))["reading"]):
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"it has not come so far: {found}") from None
    return found


async def until_state(gateway: Gateway, *states: str, name: str = "crm") -> dict[str, Any]:
    return await until(gateway, lambda found: found["state"] in states, name=name)


async def woken(gateway: Gateway, count: int) -> list[TriggerReceivedV1]:
    """The triggers, once there are so many, oldest first; their order is that of the changes for one robot alone."""
    there = 0
    try:
        async with asyncio.timeout(PATIENCE_S):
            while (there := await messages(gateway.nats_url)) < count:
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"expected {count} triggers, found {there}") from None
    return [event.data for event in await triggers(gateway.nats_url)]


def data_of(found: list[TriggerReceivedV1]) -> list[dict[str, Any]]:
    return [trigger.input.data for trigger in found]
