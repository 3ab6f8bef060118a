"""Attempt several targets of a delivery at once, each within its time, and record how each fared."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.resolve_attachments import resolve_attachments
from delivery_center.domain.circuit_breaker import Blocked, instant
from delivery_center.domain.delivery import (
    AT_ONCE,
    REASON_LIMIT,
    Delivery,
    Outcome,
    PermanentFailure,
    RetryPolicy,
    Succeeded,
    Target,
    TransientFailure,
    drop,
    put_off,
    record,
)
from delivery_center.domain.expansion import config_of
from delivery_center.ports import Channel, Files, Gone, OutgoingMessage, ResolvedAttachment, Texts
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.delivery import DeliveryPermission, DeliveryType, Permission
from rota_contracts.messages.execution import excerpt
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Robot

LABEL_LIMIT = 200


@dataclass(frozen=True, slots=True)
class _Load:
    """What all targets of a delivery have in common."""

    robot: Robot
    body: str
    attachments: tuple[ResolvedAttachment, ...]


@dataclass(frozen=True)
class AttemptTargets:
    """`recording` stands for every channel unless the mode is standard. `timeout` in seconds, for one attempt;
    `patience` the same for channels that need longer.

    In standard mode a stop or a pause that is heard meanwhile keeps back what hasn't been sent yet, unless it is a
    replay; and a place that is switched off, rests after failures, or is busy gets no attempt.
    """

    channels: Mapping[DeliveryType, Channel[Any]]
    recording: Channel[Any]
    texts: Texts
    files: Files
    paused: PausedExecutions
    breakers: CircuitBreakers
    limits: ConcurrencyLimits
    clock: Clock
    retry_policy: RetryPolicy
    timeout: float
    patience: Mapping[DeliveryType, float] = field(default_factory=dict)

    async def __call__(self, delivery: Delivery, targets: Sequence[Target], robot: Robot) -> list[Target]:
        """The targets, each one attempt richer unless it was kept back.

        Raises Permanent, with nothing sent, if the content can't be read.
        """
        content = delivery.content
        attachments = await resolve_attachments(self.files, delivery.context.team_id, content.attachments)
        load = _Load(robot, await self.texts.read(content.body), attachments)
        free = asyncio.Semaphore(AT_ONCE)

        async def one(target: Target) -> Target:
            async with free:
                said = self.heard(delivery)
                if said is not None:
                    return self._kept_back(target, said)
                if delivery.mode is not ExecutorMode.STANDARD:
                    return (await self._attempt(delivery, target, load))[0]
                return await self._at_its_place(delivery, target, load)

        return list(await asyncio.gather(*(one(target) for target in targets)))

    def heard(self, delivery: Delivery) -> DeliveryPermission | None:
        """What was heard that keeps it back; None if nothing was, or doesn't matter to it."""
        if delivery.mode is not ExecutorMode.STANDARD or delivery.replay_of is not None:
            return None
        return self.paused.of(delivery.context.execution_id)

    def _kept_back(self, target: Target, said: DeliveryPermission) -> Target:
        if said.leave is Permission.DENY:
            return drop(target, said.reason)
        return put_off(target, self.clock(), said.reason)

    async def _at_its_place(self, delivery: Delivery, target: Target, load: _Load) -> Target:
        off = self.breakers.off(target)
        if off is not None:
            return drop(target, off.reason)
        async with self.limits.slot(_place(target)) as mine:
            if not mine:
                return put_off(target, self.clock(), f"{_shown(target)} is busy; tried again soon")
            allowed = self.breakers.allow(target)
            if isinstance(allowed, Blocked):
                reason = f"{_shown(target)} isn't answering; tried again at {instant(allowed.until)}"
                return put_off(target, self.clock(), reason, until=allowed.until)
            attempted, outcome = await self._attempt(delivery, target, load)
        await self.breakers.note(delivery, target, outcome, allowed)
        return attempted

    async def _attempt(self, delivery: Delivery, target: Target, load: _Load) -> tuple[Target, Outcome]:
        at, started = self.clock(), perf_counter()
        outgoing = OutgoingMessage(
            delivery_id=target.delivery_id,
            request_id=delivery.request_id,
            at=at,
            created_at=delivery.created_at,
            content=delivery.content,
            body=load.body,
            context=delivery.context,
            robot=load.robot,
            traceparent=delivery.traceparent,
            replay_of=delivery.replay_of,
            attachments=load.attachments,
        )
        outcome = await self._send(delivery.mode, target, outgoing)
        latency_ms = round((perf_counter() - started) * 1000)
        attempted = record(
            target, outcome, at=at, latency_ms=latency_ms, now=self.clock(), retry_policy=self.retry_policy
        )
        _log(delivery, attempted)
        return attempted, outcome

    async def _send(self, mode: ExecutorMode, target: Target, outgoing: OutgoingMessage) -> Outcome:
        channel = self.channels[target.type] if mode is ExecutorMode.STANDARD else self.recording
        seconds = self.patience.get(target.type, self.timeout)
        try:
            async with asyncio.timeout(seconds):
                sent = await channel.send(config_of(target), outgoing)
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


def _place(target: Target) -> str:
    """What a slow answer of this target holds up: of mail it is the mail server, whoever it goes to."""
    return target.type.value if target.type is DeliveryType.EMAIL else target.target_id or target.delivery_id


def _shown(target: Target) -> str:
    return excerpt(target.label, LABEL_LIMIT)


def _reason(error: Exception) -> str:
    """What others said may be long, and bytes that aren't text in their encoding can't be written as JSON."""
    return str(error).encode(errors="replace").decode()[:REASON_LIMIT]


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
