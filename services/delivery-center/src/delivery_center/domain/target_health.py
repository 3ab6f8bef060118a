"""The health of targets: what is stored of one that fails or is disabled, and when it is disabled."""

from datetime import datetime, timedelta
from typing import Any

from delivery_center.domain.circuit_breaker import CONSECUTIVE_FAILURES
from delivery_center.domain.delivery import Delivery, Target
from delivery_center.domain.retry_policy import Outcome, PermanentFailure
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.targets import TargetCondition, TargetHealth
from rota_contracts.model import Instant, Name, Part


class TargetRef(Part):
    """A target of a team, across deliveries. `member_id` is the robot that delivered to it last."""

    target_id: str
    team_id: Name
    member_id: Name
    type: DeliveryType
    label: str

    def identity(self) -> dict[str, Any]:
        """The fields of the reference alone, also of a `FailingTarget`."""
        return self.model_dump(mode="json", include=set(TargetRef.model_fields))


class FailingTarget(TargetRef):
    """A target that fails or is disabled; nothing is stored of a healthy one.

    `failures` are consecutive, since `failing_since`; the last was `last_error` at `last_at`. `unpublished`: its last
    switch hasn't been published yet; until then `enabled_at` is kept. `retry_at`: a person asked to try it.
    """

    failures: int = 0
    failing_since: Instant | None = None
    last_at: Instant | None = None
    last_error: str = ""
    disabled_at: Instant | None = None
    reason: str = ""
    enabled_at: Instant | None = None
    unpublished: bool = False
    retry_at: Instant | None = None


def target_ref(delivery: Delivery, target: Target) -> TargetRef:
    return TargetRef(
        target_id=target.target_id,
        team_id=delivery.context.team_id,
        member_id=delivery.context.member_id,
        type=target.type,
        label=target.label,
    )


def reason_to_disable(
    target: FailingTarget, outcome: Outcome, *, now: datetime, disable_after: timedelta
) -> str | None:
    """None to go on sending. `disable_after`: how long a target may fail with no success."""
    if isinstance(outcome, PermanentFailure) and outcome.gone:
        return f"it says it is gone: {outcome.error}"
    since = target.failing_since
    if since is None or now - since < disable_after or target.failures < CONSECUTIVE_FAILURES:
        return None
    return f"it has failed since {instant(since)}: {target.last_error}"


def disabled_reason(target: FailingTarget) -> str | None:
    """The error of a delivery to a disabled target; None if the target is enabled."""
    if target.disabled_at is None:
        return None
    return f"switched off since {instant(target.disabled_at)}: rota targets enable {target.target_id}"


def health_of(target: FailingTarget) -> TargetHealth:
    """The target as the API shows it."""
    condition = TargetCondition.FAILING if target.failures else TargetCondition.HEALTHY
    return TargetHealth(
        target_id=target.target_id,
        type=target.type,
        target=target.label,
        condition=condition if target.disabled_at is None else TargetCondition.DISABLED,
        failures=target.failures,
        failing_since=target.failing_since,
        disabled_at=target.disabled_at,
        reason=target.last_error if target.disabled_at is None else target.reason,
    )


def instant(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
