"""Attempts: send a delivery to several targets at once, each within its timeout, and record the outcomes."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.measure_attempt import measure_attempt
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.resolve_attachments import resolve_attachments
from delivery_center.domain.circuit_breaker import Blocked
from delivery_center.domain.delivery import AT_ONCE, REASON_LIMIT, Delivery, Target, drop, postpone
from delivery_center.domain.expansion import config_of
from delivery_center.domain.outgoing_message import OutgoingMessage, ResolvedAttachment
from delivery_center.domain.retry_policy import (
    Outcome,
    PermanentFailure,
    RetryPolicy,
    Succeeded,
    TransientFailure,
    record,
)
from delivery_center.domain.spans import context_of, span_of
from delivery_center.domain.target_health import instant
from delivery_center.ports import Channel, Files, Gone, NotAttempted, Texts
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_common.runtime.logs import logger
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType, Permission
from rota_contracts.messages.run_trace import TraceSpan
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot


@dataclass(frozen=True, slots=True)
class DeliveryPayload:
    """What all targets of a delivery have in common."""

    robot: Robot
    body: str
    attachments: tuple[ResolvedAttachment, ...]


@dataclass(frozen=True, kw_only=True)
class AttemptTargets:
    """`recording` replaces every channel unless the mode is standard. `timeout`: seconds of one attempt; `timeouts`
    those of channels that need longer. `export` gets the span of each attempt, and returns at once.

    In standard mode a target isn't attempted once its execution is stopped or paused (unless it is a replay), nor while
    it is disabled, its circuit is open, or it is busy.
    """

    channels: Mapping[DeliveryType, Channel[Any]]
    recording: Channel[Any]
    texts: Texts
    files: Files
    paused: PausedExecutions
    breakers: CircuitBreakers
    limits: ConcurrencyLimits
    clock: Clock
    policy: RetryPolicy
    timeout: float
    timeouts: Mapping[DeliveryType, float] = field(default_factory=dict)
    export: Callable[[Sequence[TraceSpan]], None] | None = None

    async def read(self, delivery: Delivery, robot: Robot) -> DeliveryPayload:
        """Raises Permanent if the content can't be read."""
        content = delivery.content
        attachments = await resolve_attachments(self.files, delivery.context.team_id, content.attachments)
        return DeliveryPayload(robot, await self.texts.read(content.body), attachments)

    async def __call__(self, delivery: Delivery, targets: Sequence[Target], payload: DeliveryPayload) -> list[Target]:
        """The targets, each after one attempt unless it was withheld."""
        free = asyncio.Semaphore(AT_ONCE)

        async def one(target: Target) -> Target:
            async with free:
                withheld = self.withheld(delivery)
                if withheld is not None:
                    return self._withhold(target, withheld)
                if delivery.mode is not ExecutorMode.STANDARD:
                    return (await self._attempt(delivery, target, payload))[0]
                try:
                    return await self._guarded(delivery, target, payload)
                except NotAttempted as error:
                    return postpone(target, self.clock(), _reason(error))

        return list(await asyncio.gather(*(one(target) for target in targets)))

    def withheld(self, delivery: Delivery) -> DeliveryPermission | None:
        """HOLD or DENY from the last signal to its execution; None if it may be sent, or needs no permission."""
        return self.paused.permission(delivery.context.execution_id) if delivery.needs_permission else None

    def _withhold(self, target: Target, permission: DeliveryPermission) -> Target:
        if permission.leave is Permission.DENY:
            return drop(target, permission.reason)
        return postpone(target, self.clock(), permission.reason)

    async def _guarded(self, delivery: Delivery, target: Target, payload: DeliveryPayload) -> Target:
        """Within the target's concurrency limit and circuit breaker."""
        disabled = self.breakers.disabled_reason(target)
        if disabled is not None:
            return drop(target, disabled)
        async with self.limits.slot(_limited(target)) as free:
            if not free:
                return postpone(target, self.clock(), f"{target.label} is busy; tried again soon")
            allowed = self.breakers.allow(target)
            if isinstance(allowed, Blocked):
                reason = f"{target.label} isn't answering; tried again at {instant(allowed.until)}"
                return postpone(target, self.clock(), reason, until=allowed.until)
            attempted, outcome = await self._attempt(delivery, target, payload)
        await self.breakers.record(delivery, target, outcome, allowed)
        return attempted

    async def _attempt(self, delivery: Delivery, target: Target, payload: DeliveryPayload) -> tuple[Target, Outcome]:
        at, started = self.clock(), perf_counter()
        outgoing = OutgoingMessage(
            delivery_id=target.delivery_id,
            request_id=delivery.request_id,
            at=at,
            created_at=delivery.created_at,
            content=delivery.content,
            body=payload.body,
            context=delivery.context,
            robot=payload.robot,
            traceparent=context_of(delivery, target),
            replay_of=delivery.replay_of,
            attachments=payload.attachments,
        )
        outcome = await self._send(delivery.mode, target, outgoing)
        latency_ms = round((perf_counter() - started) * 1000)
        attempted = record(target, outcome, at=at, latency_ms=latency_ms, now=self.clock(), policy=self.policy)
        _log(delivery, attempted)
        if delivery.mode is ExecutorMode.STANDARD:
            measure_attempt(delivery, attempted)
        if self.export is not None:
            self.export([span_of(delivery, attempted)])
        return attempted, outcome

    async def _send(self, mode: ExecutorMode, target: Target, outgoing: OutgoingMessage) -> Outcome:
        channel = self.channels[target.type] if mode is ExecutorMode.STANDARD else self.recording
        seconds = self.timeouts.get(target.type, self.timeout)
        try:
            async with asyncio.timeout(seconds):
                sent = await channel.send(config_of(target), outgoing)
        except NotAttempted:
            raise
        except Permanent as error:
            return PermanentFailure(_reason(error), getattr(error, "details", None), gone=isinstance(error, Gone))
        except Transient as error:
            return TransientFailure(_reason(error), after=error.after, details=getattr(error, "details", None))
        except TimeoutError:
            return TransientFailure(f"no answer within {seconds:g} s")
        except Exception as bug:  # a bug in one channel must not send to the other targets again
            logger().exception("channel failed", delivery_id=target.delivery_id, channel=target.type.value)
            return TransientFailure(f"the channel {target.type} failed: {type(bug).__name__}")
        return Succeeded(sent.recipients, sent.details)


def _limited(target: Target) -> str:
    """What a slow reply blocks: the target, or for mail our one mail server."""
    return target.type.value if target.type is DeliveryType.EMAIL else target.target_id or target.delivery_id


def _reason(error: Exception) -> str:
    """A receiver's text may be long, and bytes that aren't text in their encoding can't be written as JSON."""
    return without_credentials(str(error)).encode(errors="replace").decode()[:REASON_LIMIT]


def _log(delivery: Delivery, target: Target) -> None:
    attempt = target.attempts[-1]
    logger(service="delivery-center").info(
        "attempted",
        request_id=delivery.request_id,
        delivery_id=target.delivery_id,
        channel=target.type.value,
        target=target.label,
        attempt=len(target.attempts),
        state=target.state.value,
        latency_ms=attempt.latency_ms,
        error=attempt.error,
    )
