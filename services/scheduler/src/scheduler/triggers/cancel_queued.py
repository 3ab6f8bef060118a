"""The cancellation of queued executions: any replica is asked, and the dispatcher does it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.control import Withdraw, WithdrawReply
from scheduler.ports import CancelRequests

WAIT_S = 4.0
"""Shorter than the question's own timeout, so that the caller receives the reason."""

POLL_S = 0.02

RECENT = timedelta(minutes=1)
"""A request repeated within this time is answered with the first one's outcome."""


@dataclass(frozen=True, kw_only=True)
class CancelQueued:
    """`wake` starts a turn of this replica's dispatcher, if it has the lease; another checks the requests when it
    renews its lease. `wait`: seconds until it gives up."""

    cancel_requests: CancelRequests
    wake: Callable[[], None]
    clock: Clock
    wait: float = WAIT_S

    async def __call__(self, question: Withdraw) -> WithdrawReply:
        since = self.clock() - RECENT
        request_id = await self.cancel_requests.ask(question)
        self.wake()
        try:
            async with asyncio.timeout(self.wait):
                while await self.cancel_requests.is_open(request_id):  # noqa: ASYNC110  # the dispatcher is another process
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise Transient("no replica dispatches at this moment: ask again") from None
        return await self.cancel_requests.outcome(question, since)
