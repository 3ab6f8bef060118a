"""A delivery-center with deliveries, targets and suppressions, over the bus in memory; it keeps the requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rota_common.bus.router import Router
from rota_common.errors import Permanent
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_contracts.catalog import (
    LIST_DELIVERIES,
    LIST_SUPPRESSIONS,
    LIST_TARGETS,
    READ_DELIVERY,
    REPLAY_DELIVERIES,
    RETRY_DELIVERIES,
    SUPPRESS,
    SWITCH_TARGET,
    UNSUPPRESS,
)
from rota_contracts.messages.delivery import (
    AttemptDetail,
    ChannelResult,
    DeliveryReply,
    DeliveryType,
    ReadDelivery,
    TargetDetail,
)
from rota_contracts.messages.delivery_log import (
    DeliveryPage,
    DeliveryState,
    DeliverySummary,
    ListDeliveries,
    ReplayDeliveries,
    ReplayDeliveriesReply,
    ReplayedDelivery,
    RetriedDelivery,
    RetryDeliveries,
    RetryDeliveriesReply,
)
from rota_contracts.messages.targets import (
    ListSuppressions,
    ListTargets,
    Suppress,
    Suppression,
    SuppressionPage,
    SwitchTarget,
    TargetCondition,
    TargetHealth,
    TargetPage,
    Unsuppress,
)
from rota_contracts.model import Part

from .stand_ins import AT, answering

HOOK = "https://crm.example/in"


def delivery(request_id: str = "d1", *, success: bool = False, final: bool = True, targets: int = 1) -> DeliveryReply:
    result = ChannelResult(
        type=DeliveryType.WEBHOOK, target=HOOK, success=success, delivery_id="x1", final=final, target_id="t1"
    )
    attempt = AttemptDetail(at=AT, ok=success, latency_ms=12, details={"status": 500, "body": "out of order"})
    settled = final or not targets
    read = [TargetDetail(result=result, attempts=[attempt])] * targets
    return DeliveryReply(request_id=request_id, accepted_at=AT, settled=settled, targets=read)


def summary(request_id: str) -> DeliverySummary:
    return DeliverySummary(
        request_id=request_id,
        member_id="leader",
        execution_id="e1",
        created_at=AT,
        state=DeliveryState.FAILED,
        summary="A lead",
    )


@dataclass
class DeliveryLog:
    """The team acme has `deliveries`; a page holds one. `given_up` of them are replayed. `refuses` is why it won't."""

    deliveries: list[DeliveryReply] = field(default_factory=list)
    given_up: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    targets: list[TargetHealth] = field(default_factory=list)
    suppressions: list[Suppression] = field(default_factory=list)
    refuses: str = ""
    asked: list[Part] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, bus: InMemoryBus) -> AsyncIterator["DeliveryLog"]:
        router = Router()
        router.answer(READ_DELIVERY, self._read)
        router.answer(LIST_DELIVERIES, self._list)
        router.answer(REPLAY_DELIVERIES, self._replay)
        router.answer(RETRY_DELIVERIES, self._retry)
        router.answer(LIST_TARGETS, self._list_targets)
        router.answer(SWITCH_TARGET, self._switch)
        router.answer(SUPPRESS, self._suppress)
        router.answer(UNSUPPRESS, self._unsuppress)
        router.answer(LIST_SUPPRESSIONS, self._list_suppressions)
        async with answering("delivery-center", bus, router):
            yield self

    async def _read(self, question: ReadDelivery) -> DeliveryReply:
        mine = self.deliveries if question.team_id == "acme" else []
        found = next((each for each in mine if each.request_id == question.request_id), DeliveryReply())
        return found.model_copy(update={"body": "# All is well"}) if question.with_body else found

    async def _list(self, question: ListDeliveries) -> DeliveryPage:
        self.asked.append(question)
        ids = sorted(each.request_id or "" for each in self.deliveries if question.team_id == "acme")
        page = [each for each in ids if each > question.after][:1]
        more = page[-1] if page and page[-1] != ids[-1] else ""
        return DeliveryPage(deliveries=[summary(each) for each in page], next=more)

    async def _replay(self, question: ReplayDeliveries) -> ReplayDeliveriesReply:
        self.asked.append(question)
        if self.refuses:
            raise Permanent(self.refuses)
        left = [each for each in self.given_up if each > question.after]
        page = [question.request_id] if question.request_id in self.given_up else left[: question.limit]
        if question.request_id is not None and question.request_id not in self.given_up:
            page = []
        more = page[-1] if question.request_id is None and len(left) > question.limit else ""
        ids = [(f"{question.replay_id}-{each}", each) for each in page]
        sent = [ReplayedDelivery(request_id=made, replay_of=each or "", targets=1) for made, each in ids]
        return ReplayDeliveriesReply(replayed=sent, next=more)

    async def _retry(self, question: RetryDeliveries) -> RetryDeliveriesReply:
        self.asked.append(question)
        if question.request_id is not None:
            pending = [each for each in self.pending if each == question.request_id]
        else:
            pending = [each for each in self.pending if each > question.after]
        page = pending[: question.limit]
        more = page[-1] if len(pending) > question.limit else ""
        return RetryDeliveriesReply(retried=[RetriedDelivery(request_id=each, targets=1) for each in page], next=more)

    async def _list_targets(self, question: ListTargets) -> TargetPage:
        return TargetPage(targets=self.targets if question.team_id == "acme" else [])

    async def _switch(self, word: SwitchTarget) -> TargetPage:
        self.asked.append(word)
        if self.refuses:
            return TargetPage(refused=self.refuses)
        healthy = [each for each in self.targets if each.target_id != word.target_id]
        sick = TargetHealth(
            target_id=word.target_id,
            type=DeliveryType.WEBHOOK,
            target=HOOK,
            condition=TargetCondition.DISABLED,
            disabled_at=AT,
            reason=word.reason,
        )
        self.targets = healthy if word.enabled else [*healthy, sick]
        return TargetPage(targets=self.targets)

    async def _suppress(self, word: Suppress) -> SuppressionPage:
        self.asked.append(word)
        if self.refuses:
            return SuppressionPage(refused=self.refuses)
        made = Suppression(created_at=AT, **word.model_dump())
        self.suppressions.append(made)
        return SuppressionPage(suppressions=[made])

    async def _unsuppress(self, word: Unsuppress) -> SuppressionPage:
        self.asked.append(word)
        self.suppressions = [each for each in self.suppressions if each.address != word.address]
        return SuppressionPage()

    async def _list_suppressions(self, question: ListSuppressions) -> SuppressionPage:
        self.asked.append(question)
        page = [each for each in self.suppressions if each.address > question.after][: question.limit]
        return SuppressionPage(suppressions=page, next=page[-1].address if page else "")
