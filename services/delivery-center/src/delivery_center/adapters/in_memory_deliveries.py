"""Deliveries in memory, held to the same tests as the real store."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from delivery_center.domain.delivery import Delivery, Target
from delivery_center.domain.page_cursor import cursor_of
from rota_common.clock import Clock, now
from rota_common.errors import Unreadable
from rota_common.page_cursor import PageCursor
from rota_contracts.messages.delivery_log import DeliveryFilter, ListDeliveries, ReplayDeliveries, TargetState
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode


class InMemoryDeliveries:
    """`clock` is the store's own, as a database has one: claims end by it. `unreadable`: request ids of deliveries that
    another version wrote."""

    def __init__(self, *, clock: Clock = now) -> None:
        self.stored: dict[str, Delivery] = {}
        self.unreadable: set[str] = set()
        self.clock = clock

    async def find(self, request_id: str) -> Delivery | None:
        if request_id in self.unreadable:
            raise Unreadable(f"delivery {request_id} was written by another version: this one can't read it")
        return self.stored.get(request_id)

    async def find_of(self, team: str, execution_id: str) -> Delivery | None:
        found = self._matching(ListDeliveries(team_id=team, execution_id=execution_id))
        return next((_without_body(delivery) for delivery in reversed(found) if delivery.replay_of is None), None)

    async def page(self, asked: ListDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        found = [each for each in self._matching(asked) if asked.state in (None, each.state)]
        left = [each for each in reversed(found) if after is None or cursor_of(each) < after]
        return [_without_body(each) for each in left[: asked.limit]]

    async def replayable(self, asked: ReplayDeliveries, *, after: PageCursor | None) -> list[Delivery]:
        found = [
            each
            for each in self._matching(asked)
            if each.mode is ExecutorMode.STANDARD
            and (each.replay_of is None if asked.request_id is None else each.request_id == asked.request_id)
            and any(_is_replayable(target, asked) for target in each.targets)
        ]
        return [each for each in found if after is None or cursor_of(each) > after][: asked.limit]

    async def replays_of(self, request_ids: Sequence[str]) -> list[Delivery]:
        return [_without_body(each) for each in self.stored.values() if each.replay_of in request_ids]

    async def insert(self, delivery: Delivery) -> Delivery:
        return self.stored.setdefault(delivery.request_id, delivery)

    async def insert_begun(self, delivery: Delivery, lease: timedelta) -> Delivery:
        return await self.insert(delivery.model_copy(update={"due_at": self.clock() + lease}))

    async def record_first(self, delivery: Delivery) -> Delivery:
        begun = self.stored.get(delivery.request_id)
        if begun is None or not begun.starting:
            return await self.insert(delivery)
        self.stored[delivery.request_id] = delivery.model_copy(update={"revision": begun.revision + 1})
        return delivery

    async def claim_due(self, now: datetime, lease: timedelta) -> Delivery | None:
        return self._claim(lambda each: _has_come(each, self.clock() if each.claimed else now), lease)

    async def claim_of(self, team: str, member: str, lease: timedelta) -> Delivery | None:
        def free(delivery: Delivery) -> bool:
            return not delivery.claimed or _has_come(delivery, self.clock())

        return self._claim(lambda each: _pending_of(each, team, member) and free(each), lease)

    async def has_pending(self, team: str, member: str) -> bool:
        return any(_pending_of(delivery, team, member) for delivery in self.stored.values())

    async def save(self, delivery: Delivery) -> bool:
        stored = self.stored.get(delivery.request_id)
        if stored is None or stored.revision != delivery.revision:
            return False
        written = {name: getattr(delivery, name) for name in ("targets", "due_at", "claimed", "starting")}
        self.stored[delivery.request_id] = stored.model_copy(update=written)
        return True

    async def bring_forward(self, delivery: Delivery) -> bool:
        stored = self.stored.get(delivery.request_id)
        if stored is None or stored.claimed or stored.revision != delivery.revision:
            return False
        update = {"targets": delivery.targets, "due_at": delivery.due_at, "revision": stored.revision + 1}
        self.stored[delivery.request_id] = stored.model_copy(update=update)
        return True

    def _matching(self, asked: DeliveryFilter) -> list[Delivery]:
        """Oldest first."""
        return sorted(
            (
                each
                for each in self.stored.values()
                if each.context.team_id == asked.team_id
                and each.request_id not in self.unreadable
                and asked.member_id in (None, each.context.member_id)
                and asked.execution_id in (None, each.context.execution_id)
                and (asked.target_id is None or any(asked.target_id == target.target_id for target in each.targets))
                and (asked.since is None or each.created_at >= asked.since)
                and (asked.until is None or each.created_at < asked.until)
            ),
            key=cursor_of,
        )

    def _claim(self, wanted: Callable[[Delivery], bool], lease: timedelta) -> Delivery | None:
        until = self.clock() + lease
        readable = [each for each in self.stored.values() if each.request_id not in self.unreadable]
        found = sorted(filter(wanted, readable), key=lambda delivery: delivery.due_at or until)
        if not found:
            return None
        update = {"due_at": until, "claimed": True, "revision": found[0].revision + 1}
        claimed = self.stored[found[0].request_id] = found[0].model_copy(update=update)
        return claimed


def _without_body(delivery: Delivery) -> Delivery:
    left_out: dict[str, Any] = {"body": Text(inline=""), "result": None, "tasks": []}
    return delivery.model_copy(update={"content": delivery.content.model_copy(update=left_out)})


def _is_replayable(target: Target, asked: ReplayDeliveries) -> bool:
    wanted = target.state is TargetState.FAILED or (asked.targets == "all" and target.state is TargetState.DELIVERED)
    return wanted and asked.target_id in (None, target.target_id)


def _has_come(delivery: Delivery, at: datetime) -> bool:
    return delivery.due_at is not None and delivery.due_at <= at


def _pending_of(delivery: Delivery, team: str, member: str) -> bool:
    owner = (delivery.context.team_id, delivery.context.member_id)
    return owner == (team, member) and delivery.due_at is not None
