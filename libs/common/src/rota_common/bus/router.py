"""The table of a service's handlers: `router.on(CHANNEL, handler)` and `router.answer(QUESTION, handler)`."""

import asyncio
from typing import Any

from rota_common.bus.consuming import ChannelHandler, Handler, OnBuried
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
        gate: asyncio.Event | None = None,
        when_buried: OnBuried | None = None,
    ) -> None:
        """Consume `channel`: `handler` takes each event. The settings are those of `ChannelHandler`."""
        self.handlers.append(ChannelHandler(channel, handler, slots, gate, when_buried))

    def consume(self, channel: Channel[Any], **settings: Any) -> Any:  # goes with its last use
        def register(handler: Handler) -> Handler:
            self.on(channel, handler, **settings)
            return handler

        return register

    def answer(self, question: Question[Any, Any], handler: RequestHandler | None = None, *, workers: int = 64) -> Any:
        """Respond to `question`: `handler` takes the request and returns the reply."""

        def register(handler: RequestHandler) -> RequestHandler:  # goes with its last use
            self.responders.append(Responder(question, handler, workers))
            return handler

        return register if handler is None else register(handler)
