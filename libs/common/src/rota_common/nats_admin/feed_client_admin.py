"""The administration of feed clients: their keys, their durable consumers, and reloads of the server."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import nats
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError
from pydantic import TypeAdapter, ValidationError

from rota_common.bus.connection import asks_for_a_key, identity, silent
from rota_common.nats_admin.accounts import SYSTEM_USER, Accounts
from rota_common.nats_admin.config import Folder, new_key
from rota_common.nats_admin.permissions import OPERATOR
from rota_contracts.catalog import FEED
from rota_contracts.feed import feed_durable, feed_subject
from rota_contracts.model import Name

TIMEOUT_S = 5
ACK_WAIT_S = 30
MAX_ACK_PENDING = 1000
RELOADS = 2
"""A new account reaches JetStream through its imports only after a second reload (nats-server 2.15.1)."""

NAME: TypeAdapter[str] = TypeAdapter(Name)


class FeedClientError(ValueError):
    """The change is not possible, with the reason."""


@dataclass(frozen=True)
class FeedClient:
    """A feed client with its unread and its unacknowledged messages; None if it has no consumer. `calls`: it may call
    the team's agents."""

    team: str
    name: str
    waiting: int | None
    unacknowledged: int | None
    calls: bool = False

    COLUMNS: ClassVar = ("TEAM", "NAME", "WAITING", "UNACKNOWLEDGED", "CALLS")

    def row(self) -> tuple[str, ...]:
        """Itself under the columns, as text."""
        counts = ("no consumer" if each is None else str(each) for each in (self.waiting, self.unacknowledged))
        return self.team, self.name, *counts, "yes" if self.calls else "no"


@dataclass(frozen=True)
class FeedClients:
    """The feed clients of the server at `url`, whose configuration and keys are in `folder`; `ca_file` holds the
    authority of its certificate, if it has one."""

    folder: Folder
    url: str
    ca_file: str = ""

    async def add(self, team: str, name: str, *, since: datetime | None = None, calls: bool = False) -> str:
        """Add a client, and return its seed, which is stored nowhere. It reads the deliveries from now on, or from
        `since`; with `calls` it may call the team's agents.

        Reloads the server; connections stay open. Raises FeedClientError if the name is taken.
        """
        for one in (team, name):
            _check(one)
        accounts = self.folder.accounts()
        if name in accounts.teams.get(team, {}):
            raise FeedClientError(f"team {team} has a feed client {name} already: remove it, or choose another name")
        seed, public = new_key()
        # The consumer first: once the key works, there is something to read.
        async with self._jetstream() as jetstream:
            await _make(jetstream, team, name, since)
        names, callers = {**accounts.teams.get(team, {}), name: public}, accounts.callers.get(team, [])
        self.folder.save(accounts.with_team(team, names, [*callers, name] if calls else callers))
        await self.reload()
        return seed

    async def remove(self, team: str, name: str) -> None:
        """Revoke the client's key and remove its consumer; the team's other clients stay."""
        await self._end(self._with(team, name), team, [name])

    async def remove_team(self, team: str) -> list[str]:
        """Revoke the keys of all clients of the team and remove their consumers; returns their names."""
        accounts = self.folder.accounts()
        names = sorted(accounts.teams.get(team, {}))
        if names:
            await self._end(accounts, team, names)
        return names

    async def rewind(self, team: str, name: str, *, since: datetime) -> None:
        """Let the client read again from `since` on: its consumer is replaced."""
        self._with(team, name)
        async with self._jetstream() as jetstream:
            with contextlib.suppress(NotFoundError):
                await jetstream.delete_consumer(FEED, feed_durable(team, name))
            await _make(jetstream, team, name, since)

    async def listed(self, team: str = "") -> list[FeedClient]:
        """The clients of one team, or of all."""
        accounts = self.folder.accounts()
        wanted = [(of, name) for of, names in sorted(accounts.teams.items()) for name in sorted(names)]
        async with self._jetstream() as jetstream:
            found = [await _state(jetstream, of, name) for of, name in wanted if team in ("", of)]
        return [replace(each, calls=each.name in accounts.callers.get(each.team, [])) for each in found]

    async def reload(self) -> int:
        """Reload the configuration of every server of the cluster, and return their number. Connections stay open.

        Raises FeedClientError if a server rejects it.
        """
        client = await self._connect(SYSTEM_USER)
        try:
            servers = await _servers(client)
            for server in servers * RELOADS:
                reply = await client.request(f"$SYS.REQ.SERVER.{server}.RELOAD", timeout=TIMEOUT_S)
                if error := json.loads(reply.data).get("error"):
                    raise FeedClientError(f"the NATS server rejects its configuration: {error}")
            return len(servers)
        finally:
            await client.close()

    async def _end(self, accounts: Accounts, team: str, ended: Collection[str]) -> None:
        names = {name: key for name, key in accounts.teams[team].items() if name not in ended}
        callers = [name for name in accounts.callers.get(team, []) if name not in ended]
        self.folder.save(accounts.with_team(team, names, callers))
        await self.reload()
        async with self._jetstream() as jetstream:
            for name in ended:
                with contextlib.suppress(NotFoundError):
                    await jetstream.delete_consumer(FEED, feed_durable(team, name))

    def _with(self, team: str, name: str) -> Accounts:
        accounts = self.folder.accounts()
        if name not in accounts.teams.get(team, {}):
            raise FeedClientError(f"team {team} has no feed client {name}: see `rota feed-clients list`")
        return accounts

    async def _connect(self, user: str) -> Client:
        who = identity(user, str(self.folder.key(user)), self.ca_file)
        options = {"connect_timeout": TIMEOUT_S, "allow_reconnect": False, "error_cb": silent}
        return await nats.connect(self.url, **options, **who)

    @contextlib.asynccontextmanager
    async def _jetstream(self) -> AsyncIterator[JetStreamContext]:
        client = await self._connect(OPERATOR)
        try:
            yield client.jetstream(timeout=TIMEOUT_S)
        finally:
            await client.close()


def failure(url: str, folder: Path, error: Exception) -> tuple[str, str]:
    """What was expected and what came instead; and what to do."""
    if asks_for_a_key(error):
        what = f"expected NATS at {url} to know the keys in {folder}, got {error}"
        return what, "name the folder of its own configuration, or let it read that again"
    if isinstance(error, FileNotFoundError):
        return f"expected a key in {error.filename}: there is none", "`rota nats-config` writes it"
    what = f"the request to NATS at {url} failed: {error!r}"
    return what, "start it with this configuration, or correct ROTA_NATS_URL"


def _check(name: str) -> None:
    try:
        NAME.validate_python(name)
    except ValidationError as error:
        raise FeedClientError(f"expected a name of letters, digits, - and _, 64 at most, not {name!r}") from error


async def _make(jetstream: JetStreamContext, team: str, name: str, since: datetime | None) -> None:
    config = ConsumerConfig(
        durable_name=feed_durable(team, name),
        filter_subject=feed_subject(team),
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ACK_WAIT_S,
        max_ack_pending=MAX_ACK_PENDING,
        deliver_policy=DeliverPolicy.BY_START_TIME if since else DeliverPolicy.NEW,
        opt_start_time=since,
    )
    await jetstream.add_consumer(FEED, config)


async def _state(jetstream: JetStreamContext, team: str, name: str) -> FeedClient:
    try:
        info = await jetstream.consumer_info(FEED, feed_durable(team, name))
    except NotFoundError:
        return FeedClient(team, name, None, None)
    return FeedClient(team, name, info.num_pending, info.num_ack_pending)


async def _servers(client: Client) -> list[str]:
    """The ids of all servers: the first reply holds their number."""
    inbox = client.new_inbox()
    answers = await client.subscribe(inbox)
    await client.publish("$SYS.REQ.SERVER.PING", reply=inbox)
    found: list[str] = []
    expected = 1
    with contextlib.suppress(NatsTimeout, asyncio.TimeoutError):  # one that is down reads it when it starts
        while len(found) < expected:
            answer = json.loads((await answers.next_msg(timeout=TIMEOUT_S)).data)
            found.append(answer["server"]["id"])
            expected = max(expected, answer["statsz"].get("active_servers", 1))
    if not found:
        raise FeedClientError(f"expected a reply of the NATS server within {TIMEOUT_S} s, got none")
    return found
