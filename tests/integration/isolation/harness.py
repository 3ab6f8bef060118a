"""A NATS with keys and two teams, and clients that record the errors of the server."""

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from rota_common import topology
from rota_common.bus.barrier import barrier
from rota_common.bus.connection import Bus, identity
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.feed_client_admin import FeedClients
from rota_common.nats_admin.permissions import OPERATOR, TOPOLOGY
from rota_common.runtime.embedded_servers import EmbeddedServer, isolated_nats_server
from rota_contracts.catalog import FEED

ANSWER_S = 0.5
FEED_CLIENTS = (("acme", "crm"), ("acme", "archive"), ("rival", "crm"))


@dataclass
class Connection:
    """A connected client, and the errors that the server sent to it."""

    client: Client
    errors: list[str] = field(default_factory=list)

    @property
    def refused(self) -> list[str]:
        return [error for error in self.errors if "permissions violation" in error.lower()]

    async def published(self, *subjects: str, reply: str = "") -> None:
        """Publish, and return once the server has processed it."""
        for subject in subjects:
            await self.client.publish(subject, b"forged", reply=reply)
        await barrier(self.client)

    async def answer(self, subject: str, request: dict[str, Any] | None = None) -> str:
        """The reply; empty without a responder, or if the account has no JetStream."""
        try:
            reply = await self.client.request(subject, json.dumps(request or {}).encode(), timeout=ANSWER_S)
        except (NoRespondersError, NatsTimeout):
            return ""
        text = reply.data.decode()
        return "" if "jetstream not enabled for account" in text.lower() else text


@dataclass
class IsolatedNats:
    """A server and the keys in `folder`; `key(team, name)` is the seed file of a feed client."""

    server: EmbeddedServer
    folder: Folder
    ends: contextlib.AsyncExitStack

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def feed_clients(self) -> FeedClients:
        return FeedClients(self.folder, self.url)

    def key(self, team: str, name: str) -> Path:
        return self.folder.path / f"{team}-{name}.nk"

    async def add(self, team: str, name: str, *, calls: bool = False) -> Path:
        """Add a feed client; returns the file with its seed."""
        self.key(team, name).write_text(await self.feed_clients.add(team, name, calls=calls))
        return self.key(team, name)

    async def user(self, name: str) -> Connection:
        """A user of the platform."""
        return await self._connection(**identity(name, str(self.folder.key(name))))

    async def member(self, team: str, name: str) -> Connection:
        """The program of a feed client, connected as any client of NATS."""
        return await self._connection(nkeys_seed=str(self.key(team, name)))

    async def service(self, name: str) -> Bus:
        """The connection of a service of this name."""
        bus = Bus(self.url, name=name, nkey_file=str(self.folder.key(name)))
        await bus.connect()
        self.ends.push_async_callback(bus.stop)
        return bus

    async def stored(self) -> dict[str, int]:
        """The number of messages in each stream."""
        operator = await self.user(OPERATOR)
        streams = await operator.client.jetstream().streams_info()
        return {str(stream.config.name): stream.state.messages for stream in streams}

    async def deliver(self, *teams: str, robot: str = "robot") -> None:
        """Publish a fact of the feed for each team; its body is the team's name."""
        delivery = await self.service("delivery-center")
        for team in teams:
            subject = f"rota.v1.delivery.completed.{team}.{robot}"
            await delivery.jetstream.publish(subject, team.encode(), stream=FEED)

    async def _connection(self, **options: Any) -> Connection:
        errors: list[str] = []

        async def record(error: Exception) -> None:
            errors.append(str(error))

        client = await nats.connect(self.url, error_cb=record, reconnect_time_wait=0.1, **options)
        self.ends.push_async_callback(client.close)
        return Connection(client, errors)


@contextlib.asynccontextmanager
async def isolated_nats(
    path: Path, *, feed_clients: Sequence[tuple[str, str]] = FEED_CLIENTS, accounts_alone: bool = False
) -> AsyncIterator[IsolatedNats]:
    """A real server with all streams and these feed clients of teams.

    `accounts_alone` removes the permissions of the teams' users, so that only the border of their account is left.
    """
    async with contextlib.AsyncExitStack() as ends:
        server, folder = isolated_nats_server(path), Folder(path)
        ends.push_async_callback(server.kill)
        await server.start()
        await topology.apply_to(server.url, nkey_file=str(folder.key(TOPOLOGY)))
        made = IsolatedNats(server, folder, ends)
        for team, name in feed_clients:
            await made.add(team, name)
        if accounts_alone:
            _without_permissions(path / "accounts.conf")
            await made.feed_clients.reload()
        yield made


@contextlib.asynccontextmanager
async def sharing(server: EmbeddedServer) -> AsyncIterator[IsolatedNats]:
    """A running server of `isolated_nats` for one test: at the end its connections are closed, and streams purged."""
    async with contextlib.AsyncExitStack() as ends:
        made = IsolatedNats(server, Folder(server.folder), ends)
        yield made
        operator = await made.user(OPERATOR)
        for name in await made.stored():
            await operator.client.jetstream().purge_stream(name)


def _without_permissions(file: Path) -> None:
    head, _, body = file.read_text().partition("accounts: ")
    accounts = json.loads(body)
    for name, account in accounts.items():
        if name.startswith("TEAM_"):
            account["users"] = [{"nkey": user["nkey"]} for user in account["users"]]
    file.write_text(f"{head}accounts: {json.dumps(accounts)}\n")
