"""A NATS with everybody's keys and two teams, and clients that remember what the server refused them."""

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
from rota_common.bus.connection import Bus, barrier, identity
from rota_common.nats_admin.config import Folder
from rota_common.nats_admin.feed_client_admin import FeedClients
from rota_common.nats_admin.permissions import OPERATOR, TOPOLOGY
from rota_common.runtime.embedded_servers import EmbeddedServer, isolated_nats_server
from rota_contracts.catalog import FEED

ANSWER_S = 0.5
SUBSCRIBERS = (("acme", "crm"), ("acme", "archive"), ("rival", "crm"))


@dataclass
class Known:
    """A client that is connected, and what the server said to it."""

    client: Client
    told: list[str] = field(default_factory=list)

    @property
    def refused(self) -> list[str]:
        return [error for error in self.told if "permissions violation" in error.lower()]

    async def published(self, *subjects: str, reply: str = "") -> None:
        """Return once the server has dealt with it."""
        for subject in subjects:
            await self.client.publish(subject, b"forged", reply=reply)
        await barrier(self.client)

    async def answer(self, subject: str, request: dict[str, Any] | None = None) -> str:
        """What comes back; nothing if nobody answers, or only to say that there is no JetStream here."""
        try:
            reply = await self.client.request(subject, json.dumps(request or {}).encode(), timeout=ANSWER_S)
        except (NoRespondersError, NatsTimeout):
            return ""
        text = reply.data.decode()
        return "" if "jetstream not enabled for account" in text.lower() else text


@dataclass
class IsolatedNats:
    """`url` and the keys in `folder` are all that a client needs: `key(team, name)` is a subscriber's seed file."""

    server: EmbeddedServer
    folder: Folder
    ends: contextlib.AsyncExitStack

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def subscribers(self) -> FeedClients:
        return FeedClients(self.folder, self.url)

    def key(self, team: str, name: str) -> Path:
        return self.folder.path / f"{team}-{name}.nk"

    async def subscribe(self, team: str, name: str) -> Path:
        """As `rota subscribers add`; the file with its seed."""
        self.key(team, name).write_text(await self.subscribers.add(team, name))
        return self.key(team, name)

    async def user(self, name: str) -> Known:
        """A user of the platform."""
        return await self._known(**identity(name, str(self.folder.key(name))))

    async def member(self, team: str, name: str) -> Known:
        """A subscriber's program, connected as any client of NATS connects."""
        return await self._known(nkeys_seed=str(self.key(team, name)))

    async def service(self, name: str) -> Bus:
        """What a service of this name is connected with."""
        bus = Bus(self.url, name=name, nkey_file=str(self.folder.key(name)))
        await bus.connect()
        self.ends.push_async_callback(bus.stop)
        return bus

    async def stored(self) -> dict[str, int]:
        """How many messages each stream has."""
        operator = await self.user(OPERATOR)
        streams = await operator.client.jetstream().streams_info()
        return {str(stream.config.name): stream.state.messages for stream in streams}

    async def deliver(self, *teams: str, robot: str = "robot") -> None:
        """A fact of the feed for each, in this order; its body is the team's name."""
        delivery = await self.service("delivery-center")
        for team in teams:
            subject = f"rota.v1.delivery.completed.{team}.{robot}"
            await delivery.jetstream.publish(subject, team.encode(), stream=FEED)

    async def _known(self, **options: Any) -> Known:
        told: list[str] = []

        async def hear(error: Exception) -> None:
            told.append(str(error))

        client = await nats.connect(self.url, error_cb=hear, reconnect_time_wait=0.1, **options)
        self.ends.push_async_callback(client.close)
        return Known(client, told)


@contextlib.asynccontextmanager
async def isolated_nats(
    path: Path, *, subscribers: Sequence[tuple[str, str]] = SUBSCRIBERS, accounts_alone: bool = False
) -> AsyncIterator[IsolatedNats]:
    """A real server with all streams and these named subscribers of teams.

    `accounts_alone` takes the permissions off the teams' users, so that only the border of their account is left.
    """
    async with contextlib.AsyncExitStack() as ends:
        server, folder = isolated_nats_server(path), Folder(path)
        ends.push_async_callback(server.kill)
        await server.start()
        await topology.apply_to(server.url, nkey_file=str(folder.key(TOPOLOGY)))
        made = IsolatedNats(server, folder, ends)
        for team, name in subscribers:
            await made.subscribe(team, name)
        if accounts_alone:
            _without_permissions(path / "accounts.conf")
            await made.subscribers.reload()
        yield made


def _without_permissions(file: Path) -> None:
    head, _, body = file.read_text().partition("accounts: ")
    accounts = json.loads(body)
    for name, account in accounts.items():
        if name.startswith("TEAM_"):
            account["users"] = [{"nkey": user["nkey"]} for user in account["users"]]
    file.write_text(f"{head}accounts: {json.dumps(accounts)}\n")
