"""Retries brought forward: on request, and when a target has recovered or is enabled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from delivery_center.domain.delivery import Delivery, Target, bring_forward
from delivery_center.domain.page_cursor import cursor_of
from delivery_center.ports import DeliveryStore, FailingTargets
from delivery_center.targets.circuit_breakers import REFRESH_S, CircuitBreakers
from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_common.page_cursor import parse_cursor
from rota_common.runtime.logs import logger
from rota_contracts.messages.delivery_log import (
    DeliveryState,
    ListDeliveries,
    RetriedDelivery,
    RetryDeliveries,
    RetryDeliveriesReply,
)

PAGE = 200
APART = timedelta(milliseconds=50)
"""Between two deliveries, so that a receiver that is back isn't overwhelmed."""

LEAD = timedelta(seconds=REFRESH_S + 1)
"""Until every replica knows that circuits are to be closed."""


@dataclass(frozen=True, kw_only=True)
class BringForward:
    """The delivery ids stay. What is being attempted is left alone, and so are disabled targets."""

    deliveries: DeliveryStore
    targets: FailingTargets
    breakers: CircuitBreakers
    clock: Clock

    async def __call__(self, asked: RetryDeliveries) -> RetryDeliveriesReply:
        """One page. Raise Permanent if `after` is no cursor."""
        page, more = await self._page(asked)

        def wanted(target: Target) -> bool:
            return asked.target_id in (None, target.target_id) and self.breakers.disabled_reason(target) is None

        at = self.clock()
        pending = {t.target_id for delivery in page for t in delivery.targets if t.next_attempt_at and wanted(t)}
        if pending:
            await self.targets.request_retry(asked.team_id, sorted(pending), at)
            self.breakers.close(pending)
        return RetryDeliveriesReply(
            retried=await self._bring(page, wanted, at + LEAD), next=cursor_of(page[-1]).text() if more else ""
        )

    async def recovered(self) -> None:
        """Whatever is pending for the targets that this replica has seen to recover."""
        while self.breakers.recovered:
            team, target_id = self.breakers.recovered.pop()
            try:
                await self._of_target(team, target_id)
            except Transient as error:
                self.breakers.recovered.add((team, target_id))
                _log().warning("can't bring deliveries forward", target_id=target_id, reason=str(error))
                return

    async def _of_target(self, team: str, target_id: str) -> None:
        asked = ListDeliveries(team_id=team, target_id=target_id, state=DeliveryState.PENDING, limit=PAGE)
        after, at, count = None, self.clock() + LEAD, 0
        while page := await self.deliveries.page(asked, after=after):
            brought = await self._bring(page, lambda target: target.target_id == target_id, at)
            after, at, count = cursor_of(page[-1]), at + len(page) * APART, count + len(brought)
        if count:
            _log().info("brought forward", target_id=target_id, deliveries=count)

    async def _page(self, asked: RetryDeliveries) -> tuple[list[Delivery], bool]:
        """The pending deliveries, and whether there may be others."""
        if asked.request_id is not None:
            found = await self.deliveries.find(asked.request_id)
            return [found] if found is not None and found.context.team_id == asked.team_id else [], False
        given = asked.model_dump(exclude={"request_id", "after"})
        question = ListDeliveries(**given, state=DeliveryState.PENDING)
        page = await self.deliveries.page(question, after=parse_cursor(asked.after))
        return page, len(page) == asked.limit

    async def _bring(
        self, page: Sequence[Delivery], wanted: Callable[[Target], bool], at: datetime
    ) -> list[RetriedDelivery]:
        """The oldest first."""
        retried: list[RetriedDelivery] = []
        for delivery in sorted(page, key=lambda each: each.created_at):
            ids = {target.delivery_id for target in delivery.targets if wanted(target)}
            brought = bring_forward(delivery, ids, at + len(retried) * APART)
            if brought is not delivery and await self.deliveries.bring_forward(brought):
                changed = sum(new is not old for new, old in zip(brought.targets, delivery.targets, strict=True))
                retried.append(RetriedDelivery(request_id=delivery.request_id, targets=changed))
        return retried


def _log() -> Any:
    return logger(service="delivery-center")
