"""Replays of deliveries: each is a delivery of its own that refers to its original."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from delivery_center.domain.delivery import Delivery, Target, why_undeliverable
from delivery_center.domain.page_cursor import cursor_of
from delivery_center.ports import DeliveryLog, FeedPublisher, Robots
from rota_common.clock import Clock
from rota_common.errors import Permanent
from rota_common.page_cursor import parse_cursor
from rota_contracts.ids import derived_id
from rota_contracts.messages.delivery_log import ReplayDeliveries, ReplayDeliveriesReply, ReplayedDelivery, TargetState

ONE_BY_ONE = timedelta(milliseconds=1)
"""Between two replays of a page: they are sent in the order of their originals."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Stores replays as due; the sweepers send them.

    A replay goes to the selected targets of its original, as they were configured then, under new delivery ids, and is
    retried like any delivery. Excluded are targets that are pending in the original or in a replay of it, and failed
    ones that a replay has reached since. A replay of a replay refers to the first original. In a range only originals
    are considered. What a dry run recorded is never sent.

    The executor isn't asked for permission: a person requested the replay, even if the execution was stopped in the
    meantime. For a deleted robot nothing is sent.
    """

    log: DeliveryLog
    robots: Robots
    publisher: FeedPublisher
    clock: Clock

    async def __call__(self, asked: ReplayDeliveries) -> ReplayDeliveriesReply:
        """One page. Raise Permanent if the requested robot was deleted, or `after` is no cursor."""
        page = await self.log.replayable(asked, after=parse_cursor(asked.after))
        members = {delivery.context.member_id for delivery in page} | ({asked.member_id} - {None})
        deleted = await self._deleted(asked.team_id, sorted(member for member in members if member is not None))
        named = asked.member_id or (page[0].context.member_id if asked.request_id and page else None)
        if named in deleted:
            raise Permanent(f"{deleted[named]}: nothing is replayed")
        replays = await self._replays([each for each in page if each.context.member_id not in deleted], asked)
        stored = replays if asked.dry_run else await asyncio.gather(*map(self.log.insert, replays))
        more = len(page) == asked.limit and not asked.request_id
        return ReplayDeliveriesReply(
            replayed=[
                ReplayedDelivery(request_id=each.request_id, replay_of=each.replay_of or "", targets=len(each.targets))
                for each in stored
            ],
            next=cursor_of(page[-1]).text() if more else "",
        )

    async def _deleted(self, team: str, members: Sequence[str]) -> dict[str, str]:
        """The robots that are deleted or missing, with the reason."""
        robots = await asyncio.gather(*(self.robots.find(team, member) for member in members))
        reasons = {member: why_undeliverable(robot, member) for member, robot in zip(members, robots, strict=True)}
        return {member: reason for member, reason in reasons.items() if reason is not None}

    async def _replays(self, originals: Sequence[Delivery], asked: ReplayDeliveries) -> list[Delivery]:
        """In the order of their originals; none for an original with no target to send to."""
        others = await self.log.replays_of(sorted({first_of(original) for original in originals}))
        made: list[Delivery] = []
        position = await self.publisher.position() if originals else 0
        for original in originals:
            request_id = derived_id("replay", asked.team_id, asked.replay_id, original.request_id)
            theirs = [each for each in others if each.replay_of == first_of(original) and each.request_id != request_id]
            targets = selected(original, theirs, asked)
            if targets:
                at = self.clock() + len(made) * ONE_BY_ONE
                made.append(_replay(original, targets, request_id, at=at, position=position))
        return made


def first_of(delivery: Delivery) -> str:
    """The request id of its first original."""
    return delivery.replay_of or delivery.request_id


def selected(original: Delivery, replays: Sequence[Delivery], asked: ReplayDeliveries) -> list[Target]:
    """The targets to replay; `replays` are the other ones of the same original."""
    final = {TargetState.FAILED} if asked.targets == "failed" else {TargetState.FAILED, TargetState.DELIVERED}
    done_by_others = {TargetState.RETRYING} if asked.targets == "all" else {TargetState.RETRYING, TargetState.DELIVERED}
    done = {_destination(target) for replay in replays for target in replay.targets if target.state in done_by_others}
    return [
        target
        for target in original.targets
        if target.state in final and asked.target_id in (None, target.target_id) and _destination(target) not in done
    ]


def _destination(target: Target) -> str:
    return json.dumps([target.type.value, target.config], sort_keys=True)


def _replay(original: Delivery, targets: Sequence[Target], request_id: str, *, at: datetime, position: int) -> Delivery:
    return original.model_copy(
        update={
            "request_id": request_id,
            "replay_of": first_of(original),
            "created_at": at,
            "accepted_at": at,
            "targets": [_to_send(target, request_id, at) for target in targets],
            "error": None,
            "due_at": at,
            "feed_position": position,
            "claimed": False,
            "revision": 0,
        }
    )


def _to_send(target: Target, request_id: str, at: datetime) -> Target:
    """The same target, with no attempts."""
    return Target(
        delivery_id=derived_id("delivery", request_id, target.delivery_id),
        target_id=target.target_id,
        type=target.type,
        label=target.label,
        config=target.config,
        next_attempt_at=at,
    )
