"""The table of a service's handlers: `router.on(CHANNEL, handler)` and `router.answer(QUESTION, handler)`."""

from typing import Any

from rota_common.bus.gate import Gate
from rota_common.bus.handling import ChannelHandler, Handler, OnBuried
from rota_common.bus.rpc import RequestHandler, Responder
from rota_contracts.catalog import Channel, Question


class Router:
    """The handlers of one service, not yet connected to anything."""

    def __init__(self) -> None:
        self.handlers: list[ChannelHandler] = []
        self.responders: list[Responder] = []

    def on(
        self,
        channel: Channel[Any],
        handler: Handler,
        *,
        slots: int = 16,
        gate: Gate | None = None,
        when_buried: OnBuried | None = None,
    ) -> None:
        """Consume `channel`: `handler` takes each event. The settings are those of `ChannelHandler`."""
        self.handlers.append(ChannelHandler(channel, handler, slots, gate, when_buried))

    def answer(self, question: Question[Any, Any], handler: RequestHandler, *, workers: int = 64) -> None:
        """Respond to `question`: `handler` takes the request and returns the reply."""
        self.responders.append(Responder(question, handler, workers))
