"""The table of a service's handlers: `router.on(CHANNEL, handler)` and `router.answer(QUESTION, handler)`."""

import asyncio
from typing import Any

from rota_common.bus.consuming import Handler, OnBuried, Subscription
from rota_common.bus.rpc import AnswerHandler, Answering
from rota_contracts.catalog import Channel, Question


class Router:
    """The handlers of one service, not yet connected to anything."""

    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self.answers: list[Answering] = []

    def on(
        self,
        channel: Channel[Any],
        handler: Handler,
        *,
        slots: int = 16,
        gate: asyncio.Event | None = None,
        when_buried: OnBuried | None = None,
    ) -> None:
        """`handler` takes each event of `channel`; see `Subscription` for the settings."""
        self.subscriptions.append(Subscription(channel, handler, slots, gate, when_buried))

    def consume(self, channel: Channel[Any], **settings: Any) -> Any:  # goes with its last use
        def register(handler: Handler) -> Handler:
            self.on(channel, handler, **settings)
            return handler

        return register

    def answer(self, question: Question[Any, Any], handler: AnswerHandler | None = None, *, workers: int = 64) -> Any:
        """`handler` takes the request of `question` and returns its reply."""

        def register(handler: AnswerHandler) -> AnswerHandler:  # goes with its last use
            self.answers.append(Answering(question, handler, workers))
            return handler

        return register if handler is None else register(handler)
