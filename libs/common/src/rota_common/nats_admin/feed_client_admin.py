"""A team's named subscribers: their keys, their durable consumers in the feed, and the server's news of them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

import nats
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError
from pydantic import TypeAdapter, ValidationError

from rota_common.bus.connection import identity
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
    """What was asked for can't be done; says why."""


@dataclass(frozen=True)
class FeedClient:
    """`waiting` messages it hasn't read, `unacknowledged` ones it has; None when it has no consumer."""

    team: str
    name: str
    waiting: int | None
    unacknowledged: int | None


@dataclass(frozen=True)
class FeedClients:
    """`folder` has the configuration and the keys of the server at `url`."""

    folder: Folder
    url: str

    async def add(self, team: str, name: str, *, since: datetime | None = None) -> str:
        """Its seed, which is kept nowhere else. It reads what is delivered from now on, or what the stream has `since`.

        The server is told; who is connected stays so. Raises SubscriberError when there is one of this name.
        """
        for one in (team, name):
            _check(one)
        accounts = self.folder.accounts()
        if name in accounts.teams.get(team, {}):
            raise FeedClientError(f"team {team} has a subscriber {name} already: remove it, or choose another name")
        seed, public = new_key()
        # The consumer first: once the key works, there is something to read.
        async with self._jetstream() as jetstream:
            await _make(jetstream, team, name, since)
        names = {**accounts.teams.get(team, {}), name: public}
        self.folder.save(accounts.model_copy(update={"teams": {**accounts.teams, team: names}}))
        await self.reload()
        return seed

    async def remove(self, team: str, name: str) -> None:
        """Its key opens nothing any more, and what it hasn't read is forgotten; the team's other ones stay."""
        accounts = self._with(team, name)
        names = {other: key for other, key in accounts.teams[team].items() if other != name}
        teams = {**accounts.teams, team: names} if names else {t: n for t, n in accounts.teams.items() if t != team}
        self.folder.save(accounts.model_copy(update={"teams": teams}))
        await self.reload()
        async with self._jetstream() as jetstream:
            with contextlib.suppress(NotFoundError):
                await jetstream.delete_consumer(FEED, feed_durable(team, name))

    async def rewind(self, team: str, name: str, *, since: datetime) -> None:
        """Let it read again all that the stream has since then: its consumer is made anew."""
        self._with(team, name)
        async with self._jetstream() as jetstream:
            with contextlib.suppress(NotFoundError):
                await jetstream.delete_consumer(FEED, feed_durable(team, name))
            await _make(jetstream, team, name, since)

    async def listed(self, team: str = "") -> list[FeedClient]:
        """Those of one team, or of all."""
        accounts = self.folder.accounts()
        wanted = [(of, name) for of, names in sorted(accounts.teams.items()) for name in sorted(names)]
        async with self._jetstream() as jetstream:
            return [await _state(jetstream, of, name) for of, name in wanted if team in ("", of)]

    async def reload(self) -> int:
        """Tell every server of the cluster to read its configuration again; how many did. Who is connected stays so.

        Raises SubscriberError when one of them won't.
        """
        client = await self._connect(SYSTEM_USER)
        try:
            servers = await _servers(client)
            for server in servers * RELOADS:
                reply = await client.request(f"$SYS.REQ.SERVER.{server}.RELOAD", timeout=TIMEOUT_S)
                if error := json.loads(reply.data).get("error"):
                    raise FeedClientError(f"the NATS server refuses its configuration: {error}")
            return len(servers)
        finally:
            await client.close()

    def _with(self, team: str, name: str) -> Accounts:
        accounts = self.folder.accounts()
        if name not in accounts.teams.get(team, {}):
            raise FeedClientError(f"team {team} has no subscriber {name}: see `rota feed_clients list`")
        return accounts

    async def _connect(self, user: str) -> Client:
        who = identity(user, str(self.folder.key(user)))
        return await nats.connect(self.url, connect_timeout=TIMEOUT_S, allow_reconnect=False, **who)

    @contextlib.asynccontextmanager
    async def _jetstream(self) -> AsyncIterator[JetStreamContext]:
        client = await self._connect(OPERATOR)
        try:
            yield client.jetstream(timeout=TIMEOUT_S)
        finally:
            await client.close()


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
    """The ids of all servers: the first that answers says how many there are."""
    inbox = client.new_inbox()
    answers = await client.subscribe(inbox)
    await client.publish("$SYS.REQ.SERVER.PING", reply=inbox)
    found: list[str] = []
    expected = 1
    with contextlib.suppress(NatsTimeout, asyncio.TimeoutError):  # one that doesn't answer reads it when it starts
        while len(found) < expected:
            answer = json.loads((await answers.next_msg(timeout=TIMEOUT_S)).data)
            found.append(answer["server"]["id"])
            expected = max(expected, answer["statsz"].get("active_servers", 1))
    if not found:
        raise FeedClientError(f"expected an answer of the NATS server within {TIMEOUT_S} s: none came")
    return found
