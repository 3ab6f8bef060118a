"""Turns a signed event into triggers, and answers only once the bus has stored them."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts.trigger import TriggerReceivedV1
from trigger_gateway.domain import InboundEvent, Woken, read_event, triggers_of
from trigger_gateway.ports import InboundLog, Logged, Signatures, Triggers
from trigger_gateway.problems import no_source
from trigger_gateway.routes import Routes

AT_ONCE = 64
"""Triggers of one event that are published side by side."""


@dataclass(frozen=True)
class Received:
    """An event and the triggers it became: the same for every repeat of the event."""

    event: InboundEvent
    woken: tuple[Woken, ...]


class ReceiveWebhook:
    def __init__(
        self, routes: Routes, signatures: Signatures, triggers: Triggers, inbound: InboundLog, clock: Clock
    ) -> None:
        self._routes, self._signatures, self._triggers = routes, signatures, triggers
        self._inbound, self._clock = inbound, clock

    async def __call__(
        self, team: str, source: str, headers: Mapping[str, str], body: bytes, *, trace: str = ""
    ) -> Received:
        """Raise a Problem for an event that is not taken, Transient when it can't be stored now.

        A publish that fails after others succeeded is harmless: the sender's repeat makes the same triggers again.
        """
        route = await self._routes.find(team, source)
        if route is None:
            raise no_source(team, source)
        event_id = self._signatures.verify(route.source, headers, body)
        event = read_event(route.source, event_id, body, self._clock())
        triggers = triggers_of(event, route.subscribers)
        await self._publish(triggers, trace)
        return Received(event, tuple(Woken(trigger.trigger_id, trigger.member_id) for trigger in triggers))

    async def log(self, received: Received) -> None:
        """Note what came in; after the answer, because the answer doesn't depend on it."""
        await self._inbound.add(Logged(received.event, received.woken))

    async def _publish(self, triggers: Sequence[TriggerReceivedV1], trace: str) -> None:
        if len(triggers) == 1:
            await self._triggers.publish(triggers[0], trace=trace)
            return
        for start in range(0, len(triggers), AT_ONCE):
            some = triggers[start : start + AT_ONCE]
            await asyncio.gather(*(self._triggers.publish(trigger, trace=trace) for trigger in some))
