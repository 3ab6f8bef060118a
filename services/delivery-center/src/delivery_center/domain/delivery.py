"""Deliveries and their targets: what is stored of them, and the changes that need no attempt."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from rota_contracts.messages.delivery import (
    DeliveryContent,
    DeliveryContext,
    DeliveryPermission,
    DeliveryType,
    Permission,
)
from rota_contracts.messages.delivery_log import DeliveryState, TargetState
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.model import Instant, Json, Part
from rota_contracts.robots.robot import Robot

AT_ONCE = 8
"""Concurrent attempts of one delivery."""

POSTPONED_FOR = timedelta(seconds=5)
"""How long a target waits while its execution is paused or its permission is unknown."""

LONGEST_START = timedelta(minutes=15)
"""For the first attempts at all targets, and for a request that comes again after a crash."""

UNDER_WAY = "its first attempt is under way"

PERMITTED = DeliveryPermission(leave=Permission.ALLOW)
REASONS = {Permission.DENY: "the execution was stopped", Permission.HOLD: "the execution is paused"}
REASON_LIMIT = 500


class Attempt(Part):
    """One attempt at one target. `final`: no attempt follows it."""

    at: Instant
    ok: bool
    final: bool
    latency_ms: int
    error: str | None = None
    recipients: list[str] = []
    details: Json = None


class Target(Part):
    """One target of a delivery. `delivery_id` is the same at every attempt: the receiver's idempotency key.

    `target_id` is the same for all deliveries of the team to this target. `label` is its display name. `config` is the
    owner's target as it was when the delivery was created. `unpublished`: its last change hasn't been published yet.
    `given_up` is why it was dropped without a further attempt, `postponed` why its first attempt was postponed.
    """

    delivery_id: str
    target_id: str = ""
    type: DeliveryType
    label: str
    config: dict[str, Json]
    state: TargetState = TargetState.RETRYING
    attempts: list[Attempt] = []
    next_attempt_at: Instant | None = None
    unpublished: bool = False
    given_up: str | None = None
    postponed: str | None = None


class Delivery(Part):
    """One delivery, as it is stored.

    `due_at` is when a sweeper claims it: at its next attempt, or when a claim expires. `claimed` is true in between.
    `revision` grows with every claim and fences the writes of earlier owners. `starting`: stored before its first
    attempts, whose outcomes aren't stored yet. `replay_of` is the request whose result this one replays.
    `feed_position`: facts that aren't known to be published are behind it in the feed, if anywhere.
    """

    request_id: str
    content: DeliveryContent
    context: DeliveryContext
    mode: ExecutorMode
    created_at: Instant
    accepted_at: Instant
    targets: list[Target] = []
    error: str | None = None
    traceparent: str = ""
    replay_of: str | None = None
    due_at: Instant | None = None
    claimed: bool = False
    revision: int = 0
    starting: bool = False
    feed_position: int | None = None

    @property
    def settled(self) -> bool:
        """Every target is final, as `delivery.settled` reports it."""
        return all(target.state is not TargetState.RETRYING for target in self.targets)

    @property
    def state(self) -> DeliveryState:
        """Failed also if there was no target, with the reason in `error`."""
        if not self.settled:
            return DeliveryState.PENDING
        failed = self.error is not None or any(target.state is TargetState.FAILED for target in self.targets)
        return DeliveryState.FAILED if failed else DeliveryState.DELIVERED

    @property
    def last_at(self) -> datetime:
        """The instant of its last attempt; of its creation if there was none."""
        return max([self.accepted_at, *(attempt.at for target in self.targets for attempt in target.attempts)])

    @property
    def needs_permission(self) -> bool:
        """Outside of standard mode nothing is sent. A replay was requested by a person, who may know that the execution
        was stopped or is paused."""
        return self.mode is ExecutorMode.STANDARD and self.replay_of is None


def due(delivery: Delivery, now: datetime) -> list[Target]:
    """The targets to attempt now: as many as run at once, so that a claim lasts no longer than one timeout."""
    return [t for t in delivery.targets if t.next_attempt_at is not None and t.next_attempt_at <= now][:AT_ONCE]


def with_targets(delivery: Delivery, changed: Sequence[Target]) -> Delivery:
    """The delivery with these targets in place of those with the same ids."""
    by_id = {target.delivery_id: target for target in changed}
    return delivery.model_copy(update={"targets": [by_id.get(t.delivery_id, t) for t in delivery.targets]})


def give_up(delivery: Delivery, reason: str) -> Delivery:
    """No more attempts at targets that are not final."""
    return with_targets(delivery, [drop(t, reason) for t in delivery.targets if t.state is TargetState.RETRYING])


def drop(target: Target, reason: str) -> Target:
    """No more attempts at this target."""
    end = {"state": TargetState.FAILED, "next_attempt_at": None, "unpublished": True, "given_up": reason}
    return target.model_copy(update=end)


def hold(delivery: Delivery, now: datetime, reason: str) -> Delivery:
    """Postpone what is due; no attempt is counted."""
    waiting = [t for t in delivery.targets if t.next_attempt_at is not None and t.next_attempt_at <= now]
    return with_targets(delivery, [postpone(target, now, reason) for target in waiting])


def postpone(target: Target, now: datetime, reason: str, *, until: datetime | None = None) -> Target:
    """Attempt the target later. Before its first attempt the reason is kept: the request is answered with it."""
    update: dict[str, Json] = {"next_attempt_at": until or now + POSTPONED_FOR}
    if not target.attempts and target.postponed is None:
        update["postponed"] = reason
    return target.model_copy(update=update)


def bring_forward(delivery: Delivery, delivery_ids: Collection[str], at: datetime) -> Delivery:
    """These targets attempted no later than `at`; the same delivery if none of them waits for longer."""
    if delivery.claimed:
        return delivery
    waiting = [t for t in delivery.targets if t.next_attempt_at is not None and t.next_attempt_at > at]
    changed = [t.model_copy(update={"next_attempt_at": at}) for t in waiting if t.delivery_id in delivery_ids]
    if not changed:
        return delivery
    return with_targets(delivery, changed).model_copy(update={"due_at": min(at, delivery.due_at or at)})


def withhold(permission: Permission, reason: str) -> DeliveryPermission:
    """HOLD or DENY with a reason to show: the given one, truncated, or the default."""
    return DeliveryPermission(leave=permission, reason=reason[:REASON_LIMIT] or REASONS[permission])


def begin(planned: Delivery, now: datetime) -> Delivery:
    """As it is stored before its first attempts: until `LONGEST_START` has passed they are its request's."""
    until = now + LONGEST_START
    update = {"next_attempt_at": until, "postponed": UNDER_WAY}
    targets = [t.model_copy(update=update) if t.state is TargetState.RETRYING else t for t in planned.targets]
    return planned.model_copy(update={"targets": targets, "starting": True, "claimed": True, "due_at": until})


def planned_of(begun: Delivery) -> Delivery:
    """What `begin` was given."""
    update = {"next_attempt_at": None, "postponed": None}
    return begun.model_copy(update={"targets": [target.model_copy(update=update) for target in begun.targets]})


def interrupt(begun: Delivery, now: datetime) -> Delivery:
    """Its request doesn't come again: the first attempts are a sweeper's now."""
    again = {"next_attempt_at": now}
    targets = [t.model_copy(update=again) if t.state is TargetState.RETRYING else t for t in begun.targets]
    return begun.model_copy(update={"targets": targets, "starting": False})


def published(delivery: Delivery) -> Delivery:
    """Everything is published: the delivery is released, and due at its next attempt."""
    instants = [target.next_attempt_at for target in delivery.targets if target.next_attempt_at is not None]
    targets = [t.model_copy(update={"unpublished": False}) if t.unpublished else t for t in delivery.targets]
    return delivery.model_copy(
        update={"targets": targets, "claimed": False, "due_at": min(instants) if instants else None}
    )


def why_undeliverable(robot: Robot | None, member: str) -> str | None:
    """The reason not to send for a robot that is missing or deleted; None for any other."""
    if robot is None:
        return f"there is no robot {member}, so its results have no targets"
    return f"the robot {member} was deleted" if robot.deleted else None
