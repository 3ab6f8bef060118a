"""Events about disabled and enabled targets, on NATS."""

from datetime import datetime

from nats.errors import Error as NatsError

from delivery_center.domain.target_health import FailingTarget
from rota_common.bus.publishing import Publish
from rota_common.errors import Transient
from rota_contracts.catalog import TARGET_DISABLED, TARGET_ENABLED
from rota_contracts.messages.targets import TargetDisabledV1, TargetEnabledV1


class NatsTargetEvents:
    """The fact's id derives from the target and the instant: published by several replicas, it is the same fact."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish

    async def publish(self, target: FailingTarget) -> None:
        try:
            if target.disabled_at is not None:
                cause = f"{target.target_id}:{target.disabled_at.isoformat()}"
                await self._publish(TARGET_DISABLED, _disabled(target, target.disabled_at), caused_by=cause)
            elif target.enabled_at is not None:
                cause = f"{target.target_id}:{target.enabled_at.isoformat()}"
                await self._publish(TARGET_ENABLED, _enabled(target, target.enabled_at), caused_by=cause)
        except NatsError as error:
            raise Transient(f"can't publish that a target was switched: {error!r}") from error


def _disabled(target: FailingTarget, at: datetime) -> TargetDisabledV1:
    return TargetDisabledV1(
        team_id=target.team_id,
        member_id=target.member_id,
        target_id=target.target_id,
        type=target.type,
        target=target.label,
        reason=target.reason,
        failing_since=target.failing_since,
        at=at,
    )


def _enabled(target: FailingTarget, at: datetime) -> TargetEnabledV1:
    return TargetEnabledV1(
        team_id=target.team_id,
        member_id=target.member_id,
        target_id=target.target_id,
        type=target.type,
        target=target.label,
        at=at,
    )
