"""Triggers over the bus, and the scheduler's decisions on them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from rota_common.bus.connection import Bus
from rota_common.bus.live import Events, LiveEvents
from rota_common.bus.publishing import Publish
from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import READ_TRIGGER, TRIGGER_ADMITTED, TRIGGER_RECEIVED, TRIGGER_REJECTED
from rota_contracts.messages.execution import ReadTrigger, TriggerReply
from rota_contracts.messages.trigger import TriggerReceivedV1
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.problems import Invalid
from trigger_gateway.runs.ports import TRIGGER_LIMIT, Outcome, OutcomeListener

READ_PATIENCE_S = 0.5


class NatsTriggers:
    def __init__(self, bus: Bus, publish: Publish) -> None:
        self._bus, self._publish = bus, publish

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        if (size := len(trigger.model_dump_json())) > TRIGGER_LIMIT:
            text = (
                f"expected a trigger of at most {TRIGGER_LIMIT} bytes of JSON, not {size}: refer to files by their id"
            )
            raise Invalid("too_large", text)
        check_connected(self._bus)
        with transient():
            return await self._publish.first(TRIGGER_RECEIVED, trigger, caused_by=trigger.trigger_id, trace=trace)


@dataclass(frozen=True)
class _Listener:
    events: Events

    async def outcome(self, trigger_id: str, *, within: float) -> Outcome | None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                while True:
                    outcome: Outcome = (await self.events.next()).data
                    if outcome.trigger_id == trigger_id:
                        return outcome
        return None


class NatsOutcomes:
    """Subscribes per request: requests to robots are rare, and webhooks don't wait for their admission."""

    def __init__(self, bus: Bus, live: LiveEvents, *, ask: Ask) -> None:
        self._bus, self._live = bus, live
        self._ask = ask

    @contextlib.asynccontextmanager
    async def listen(self, team: str, member: str) -> AsyncIterator[OutcomeListener]:
        check_connected(self._bus)
        with transient():
            async with self._live.listen((TRIGGER_ADMITTED, TRIGGER_REJECTED), team=team, member=member) as events:
                yield _Listener(events)

    async def read(self, team: str, trigger_id: str) -> TriggerReply | None:
        question = ReadTrigger(team_id=team, trigger_id=trigger_id)
        try:
            return await self._ask(READ_TRIGGER, question, timeout=READ_PATIENCE_S)
        except (Transient, Permanent):
            return None
