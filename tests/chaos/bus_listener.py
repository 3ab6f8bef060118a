"""The bus listener: steps by a plain subscription, and the facts that count by durables of its own."""

import asyncio
import re
from collections.abc import Callable

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from rota_contracts import catalog
from rota_contracts.messages.execution import ExecutionFinishedV1
from rota_contracts.messages.parking import ExecutionParkedV1
from tests.chaos.leads import lead_in
from tests.chaos.owner import Owner
from tests.chaos.poison import is_poison
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.trap import Traps
from tests.chaos.witness import Witness

RECOVER_S = 0.3
RPC = f"{catalog.ROOT}.rpc."
DEAD = f"{catalog.ROOT}.dead.>"
EXECUTION = re.compile(rb'"execution_id": ?"([0-9a-f-]{36})"')
Take = Callable[[Msg], None]


async def connect(url: str) -> Client:
    """A client that outlives every outage of its server, silently."""

    async def ignore(error: Exception) -> None:
        del error

    return await nats.connect(
        url,
        name="chaos",
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
        error_cb=ignore,
        max_outstanding_pings=100,
    )


class BusListener:
    """`rejected` and `buried` hold a sentence for each trigger refused and each dead letter; `poison`, the ids of
    the dead letters that were unreadable from the start."""

    def __init__(self, scoreboard: Scoreboard, witness: Witness, traps: Traps, owner: Owner) -> None:
        self._scoreboard, self._owner = scoreboard, owner
        self._witness, self._traps = witness, traps
        self.rejected: list[str] = []
        self.buried: list[str] = []
        self.poison = set[str]()
        self._reading: list[asyncio.Task[None]] = []

    async def open(self, client: Client) -> None:
        await client.subscribe(f"{catalog.ROOT}.>", cb=self._step)
        for channel, take in (
            (catalog.EXECUTION_FINISHED, self._finished),
            (catalog.EXECUTION_PARKED, self._parked),
            (catalog.DELIVERY_COMPLETED, self._delivered),
            (catalog.NOTIFICATION_POSTED, self._notified),
            (catalog.TRIGGER_REJECTED, self._rejected),
        ):
            self._read(client, str(channel.stream), channel.pattern, take)
        self._read(client, "DEAD", DEAD, self._buried)

    async def close(self) -> None:
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)

    async def _step(self, message: Msg) -> None:
        """`rota.v1.delivery.completed.<team>.<member>` is the step `delivery.completed`; a question is `rpc <name>`."""
        subject = message.subject
        if is_poison(message):
            return
        if subject.startswith(RPC):
            step = f"rpc {subject.removeprefix(RPC)}"
        else:
            step = ".".join(subject.removeprefix(f"{catalog.ROOT}.").split(".")[:2])
        await self._traps.reached(step, self._lead(message.data))

    def _lead(self, data: bytes) -> str:
        try:
            return lead_in(data)
        except ValueError:  # facts of the execution's life carry no lead: they name the execution
            found = EXECUTION.search(data)
            return self._scoreboard.lead_of(found[1].decode()) if found else ""

    def _read(self, client: Client, stream: str, subject: str, take: Take) -> None:
        self._reading.append(asyncio.create_task(_follow(client, stream, subject, take), name=f"listener: {subject}"))

    def _finished(self, message: Msg) -> None:
        fact = ExecutionFinishedV1.model_validate_json(message.data)
        self._scoreboard.ended(fact.execution_id, fact.status.value, fact.error or "")

    def _parked(self, message: Msg) -> None:
        self._owner.parked(ExecutionParkedV1.model_validate_json(message.data))

    def _delivered(self, message: Msg) -> None:
        self._witness.delivered(lead_in(message.data), "event", _id(message))

    def _notified(self, message: Msg) -> None:
        self._witness.delivered(lead_in(message.data), "notify", _id(message))

    def _rejected(self, message: Msg) -> None:
        self.rejected.append(message.data.decode()[:300])

    def _buried(self, message: Msg) -> None:
        if is_poison(message):
            self.poison.add(_id(message))
            return
        self.buried.append(f"{message.subject}: {(message.headers or {}).get('rota-dead-reason', '')}")


def _id(message: Msg) -> str:
    return (message.headers or {}).get("ce-id", "")


async def _follow(client: Client, stream: str, subject: str, take: Take) -> None:
    """Read for ever, through every outage. The durable keeps the position; a message may come twice."""
    durable = "chaos-" + "".join(letter if letter.isalnum() else "-" for letter in subject)
    while True:
        try:
            source = await client.jetstream().pull_subscribe(subject, durable=durable, stream=stream)
            while True:
                try:
                    messages = await source.fetch(100, timeout=1)
                except TimeoutError:
                    continue
                for message in messages:
                    if subject == DEAD or not is_poison(message):
                        take(message)
                    await message.ack()
        except (NatsError, NotFoundError, OSError, TimeoutError):
            await asyncio.sleep(RECOVER_S)
