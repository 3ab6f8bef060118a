"""The connection to NATS: FastStream makes it, with settings for reliability."""

import asyncio
import contextlib
import logging
import ssl
from typing import Any

from faststream.nats import NatsBroker
from faststream.nats.security import NatsNKey, NatsSecurity
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from rota_common.bus.answering import Answerer, Answering
from rota_common.bus.barrier import barrier
from rota_common.bus.standing_pull import Pull, StandingPull, Take, Wake
from rota_common.nats_admin.permissions import inbox
from rota_common.runtime.logs import logger
from rota_contracts.streams import Consumer

GRACE_S = 20
RECONNECT_WAIT_S = 0.5
PING_S, PINGS = 10, 2
"""A connection whose server hasn't answered two PINGs is given up: after half a minute, not the six that are usual."""

REFUSED = "permissions violation"


def identity(name: str, nkey_file: str, ca_file: str = "") -> dict[str, Any]:
    """The arguments of nats-py's `connect` that identify a client. `nkey_file` holds its seed; empty: anonymous.
    `ca_file` holds the authority of the server's certificate; empty: the server decides on TLS."""
    who: dict[str, Any] = {"name": name, "inbox_prefix": inbox(name).encode()}
    if nkey_file:
        who["nkeys_seed"] = nkey_file
    return who | _tls(ca_file, "tls") if ca_file else who


async def silent(_: Exception) -> None:
    """For `error_cb` of a short connection: the default prints a traceback; what `connect` raises says it, too."""


def asks_for_a_key(error: Exception) -> bool:
    """Has the server refused a connection because its key is missing or unknown?"""
    return "authorization violation" in str(error).lower()


def _tls(ca_file: str, context: str) -> dict[str, Any]:
    """The handshake comes first: else the server's first line, which is not signed, would say whether TLS is used.

    Raises ValueError for a file that holds no certificate.
    """
    try:
        made = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ValueError(f"expected the PEM certificate of NATS's authority in {ca_file}: {error}") from error
    return {context: made, "tls_handshake_first": True}


def _security(nkey_file: str, ca_file: str) -> NatsSecurity | None:
    tls = _tls(ca_file, "ssl_context") if ca_file else {}
    if nkey_file:
        return NatsNKey(nkey_file, **tls)
    return NatsSecurity(**tls) if tls else None


class Bus:
    """The connection of a service. `answer` responds to requests, `pull` and `jetstream` carry facts.

    `nkey_file` holds the service's seed, for a server that enforces the catalog's permissions; `ca_file` the authority
    of the server's certificate.
    """

    def __init__(self, url: str, *, name: str, nkey_file: str = "", ca_file: str = "") -> None:
        # -1: with a limit, FastStream's loops spin on the closed connection forever once it is reached.
        self.broker = NatsBroker(
            url,
            name=name,
            security=_security(nkey_file, ca_file),
            inbox_prefix=inbox(name),
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # seconds; nats-py takes a float
            connect_timeout=2,
            ping_interval=PING_S,
            max_outstanding_pings=PINGS,
            graceful_timeout=GRACE_S,
            logger=None,
            error_cb=self._on_error,
            reconnected_cb=self._on_reconnected,
        )
        self._log = logger(service=name)
        self._client: Client | None = None
        self._jetstream: JetStreamContext | None = None
        self._wakes: set[Wake] = set()
        self.answering: list[Answering] = []
        logging.getLogger("nats.aio.client").setLevel(logging.CRITICAL)

    async def connect(self) -> None:
        self._client = await self.broker.connect()
        self._jetstream = self.client.jetstream(timeout=5)

    def answer(self, subject: str, answerer: Answerer, *, queue: str, workers: int) -> None:
        """Respond to requests from `listen` on; all connections of one `queue` share them."""
        self.answering.append(Answering(subject, answerer, queue=queue, workers=workers))

    async def listen(self) -> None:
        """Start to respond to requests."""
        for each in self.answering:
            await each.open(self.client)
        await barrier(self.client)  # or the first request could be faster than the subscription

    async def finish_answers(self) -> None:
        """Take no more requests, and answer those that came."""
        await asyncio.gather(*(each.close(GRACE_S) for each in self.answering))

    async def stop(self) -> None:
        """Answer the requests that came, then close. Not `broker.stop()`: it drains, and that loses messages."""
        if self._client is None:
            return
        await self.finish_answers()
        with contextlib.suppress(NatsError):  # the server may be down: nothing to flush to then
            await barrier(self._client, timeout=2)  # no answer or acknowledgement is left behind
        with contextlib.suppress(NatsError, OSError):  # or the connection breaks while it is closed
            await self._client.close()

    async def pull(self, consumer: Consumer, take: Take, wake: Wake) -> Pull:
        """The messages of a consumer, for a worker; `wake` is also called after a reconnect. Raises
        nats.errors.Error."""
        self._wakes.add(wake)
        return await StandingPull(self.client, consumer, take=take, wake=wake).open()

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def client(self) -> Client:
        if self._client is None:
            raise NatsError("not connected to NATS yet")
        return self._client

    @property
    def jetstream(self) -> JetStreamContext:
        if self._jetstream is None:
            raise NatsError("not connected to NATS yet")
        return self._jetstream

    async def _on_reconnected(self) -> None:
        for wake in self._wakes:
            wake()

    async def _on_error(self, error: Exception) -> Any:
        if REFUSED in str(error).lower():  # the caller only sees a timeout
            self._log.warning("refused by the server: see rota_common.nats_admin.permissions", error=str(error))
        else:
            self._log.debug("nats", error=repr(error))
