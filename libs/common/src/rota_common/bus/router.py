"""Where a service's handlers are named: `@router.consume(CHANNEL)` and `@router.answer(QUESTION)`."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from rota_common.bus.consuming import Handler, OnBuried, Subscription
from rota_common.bus.rpc import AnswerHandler, Answering
from rota_contracts.catalog import Channel, Question

H = TypeVar("H", bound=Handler)
G = TypeVar("G", bound=AnswerHandler)


class Router:
    """The handlers of one service, not yet connected to anything."""

    def __init__(self) -> None:
        self.subscriptions: list[Subscription] = []
        self.answers: list[Answering] = []

    def consume(
        self,
        channel: Channel[Any],
        *,
        slots: int = 16,
        gate: asyncio.Event | None = None,
        when_buried: OnBuried | None = None,
    ) -> Callable[[H], H]:
        """The decorated function handles each event of `channel`; see `Subscription` for the settings."""

        def register(handler: H) -> H:
            self.subscriptions.append(Subscription(channel, handler, slots, gate, when_buried))
            return handler

        return register

    def answer(self, question: Question[Any, Any], *, workers: int = 64) -> Callable[[G], G]:
        """The decorated function answers `question`."""

        def register(handler: G) -> G:
            self.answers.append(Answering(question, handler, workers))
            return handler

        return register
