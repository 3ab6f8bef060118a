"""Triggers onto the bus, and what the scheduler says of them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nats.errors import MaxPayloadError

from rota_common.bus.connection import Bus
from rota_common.bus.live import Events, LiveEvents
from rota_common.bus.publishing import Publish
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import READ_TRIGGER, TRIGGER_ADMITTED, TRIGGER_RECEIVED, TRIGGER_REJECTED
from rota_contracts.messages.execution import ReadTrigger, TriggerReply
from rota_contracts.messages.trigger import TriggerReceivedV1
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.ports import Hearing, Outcome
from trigger_gateway.problems import Invalid

READ_PATIENCE_S = 0.5


class NatsTriggers:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        check_connected(self._bus)
        with transient():
            try:
                return await self._publish.first(TRIGGER_RECEIVED, trigger, caused_by=trigger.trigger_id, trace=trace)
            except MaxPayloadError as error:
                raise Invalid("too_large", "the request is too large for a message of the bus") from error


class NatsHearing:
    def __init__(self, heard: Events) -> None:
        self._heard = heard

    async def outcome(self, trigger_id: str, *, within: float) -> Outcome | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    fact: Outcome = (await self._heard.next()).data
                    if fact.trigger_id == trigger_id:
                        return fact
        return None


class NatsOutcomes:
    """Listens only while somebody waits: a request to a robot is rare, and webhooks don't wait for their admission."""

    def __init__(self, bus: Bus, watch: LiveEvents, ask: Ask) -> None:
        self._bus, self._watch, self._ask = bus, watch, ask

    @contextlib.asynccontextmanager
    async def hearing(self, team: str, member: str) -> AsyncIterator[Hearing]:
        check_connected(self._bus)
        with transient():
            async with self._watch.listen((TRIGGER_ADMITTED, TRIGGER_REJECTED), team=team, member=member) as heard:
                yield NatsHearing(heard)

    async def read(self, team: str, trigger_id: str) -> TriggerReply | None:
        question = ReadTrigger(team_id=team, trigger_id=trigger_id)
        try:
            return await self._ask(READ_TRIGGER, question, timeout=READ_PATIENCE_S)
        except (Transient, Permanent):
            return None
