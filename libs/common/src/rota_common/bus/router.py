"""The table of a service's handlers: `router.on(CHANNEL, handler)` and `router.answer(QUESTION, handler)`."""

from functools import wraps
from typing import Any, TypeVar

from rota_common.bus.gate import Gate
from rota_common.bus.handling import ChannelHandler, Handler, OnBuried
from rota_common.bus.rpc import RequestHandler, Responder
from rota_contracts.catalog import Channel, Question
from rota_contracts.upcasting import Upcast, readings

H = TypeVar("H", Handler, OnBuried)


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
        """Consume `channel`, and the versions before that it reads: `handler` takes each event. The settings are those
        of `ChannelHandler`."""
        for each, upcast in readings(channel):
            buried = when_buried and _upcasting(upcast, when_buried)
            self.handlers.append(ChannelHandler(each, _upcasting(upcast, handler), slots, gate, buried))

    def answer(self, question: Question[Any, Any], handler: RequestHandler, *, workers: int = 64) -> None:
        """Respond to `question`: `handler` takes the request and returns the reply."""
        self.responders.append(Responder(question, handler, workers))


def _upcasting(upcast: Upcast[Any], handle: H) -> H:
    """It goes by the handler's name and module, which middlewares and logs may ask for."""
    return wraps(handle)(lambda event, *reason: handle(upcast(event), *reason))
