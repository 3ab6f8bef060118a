"""Taking back what waits for a slot: whichever replica is asked, the dispatcher does it."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.control import Withdraw, WithdrawReply
from scheduler.ports import CancelRequests

WAIT_S = 4.0
"""Shorter than the question's own timeout, so that the asker hears why."""

POLL_S = 0.02

RECENT = timedelta(minutes=1)
"""The same word given again in this time is answered with what it has led to, not with what is left."""


class CancelQueued:
    """`wake` tells this replica's dispatcher to look, if it is the one; another looks when it renews its lease."""

    def __init__(
        self, withdrawals: CancelRequests, wake: Callable[[], None], clock: Clock, *, wait: float = WAIT_S
    ) -> None:
        self._withdrawals, self._wake, self._clock, self._wait = withdrawals, wake, clock, wait

    async def __call__(self, question: Withdraw) -> WithdrawReply:
        since = self._clock() - RECENT
        request_id = await self._withdrawals.ask(question)
        self._wake()
        try:
            async with asyncio.timeout(self._wait):
                while await self._withdrawals.is_open(request_id):  # noqa: ASYNC110  # who answers is another process
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Transient("no replica dispatches at this moment: ask again") from None
        return await self._withdrawals.outcome(question, since)
