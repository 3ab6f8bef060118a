"""Attempt several targets of a delivery at once, each within its time, and record how each fared."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from delivery_center.controls import Controls
from delivery_center.domain import (
    AT_ONCE,
    REASON_LIMIT,
    Delivery,
    Outcome,
    Reached,
    Refused,
    Schedule,
    Target,
    Unreached,
    drop,
    put_off,
    record,
)
from delivery_center.expansion import config_of
from delivery_center.ports import Channel, Parcel, Texts
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.logs import logger
from rota_contracts.delivery import DeliveryLeave, DeliveryType, Leave
from rota_contracts.robot import Robot
from rota_contracts.trigger import ExecutorMode


@dataclass(frozen=True)
class AttemptTargets:
    """`recording` stands for every channel unless the mode is standard. `timeout` in seconds, for one attempt.

    In standard mode a stop or a pause that is heard meanwhile keeps back what hasn't been sent yet.
    """

    channels: Mapping[DeliveryType, Channel[Any]]
    recording: Channel[Any]
    texts: Texts
    controls: Controls
    clock: Clock
    schedule: Schedule
    timeout: float

    async def __call__(self, delivery: Delivery, targets: Sequence[Target], robot: Robot) -> list[Target]:
        """The targets, each one attempt richer unless it was kept back.

        Raises Permanent, with nothing sent, if the content can't be read.
        """
        body = await self.texts.read(delivery.content.body)
        free = asyncio.Semaphore(AT_ONCE)

        async def one(target: Target) -> Target:
            async with free:
                said = self.controls.of(delivery.context.execution_id)
                if said is not None and delivery.mode is ExecutorMode.STANDARD:
                    return self._kept_back(target, said)
                return await self._attempt(delivery, target, robot, body)

        return list(await asyncio.gather(*(one(target) for target in targets)))

    def _kept_back(self, target: Target, said: DeliveryLeave) -> Target:
        if said.leave is Leave.STOP:
            return drop(target, said.reason)
        return put_off(target, self.clock(), said.reason)

    async def _attempt(self, delivery: Delivery, target: Target, robot: Robot, body: str) -> Target:
        at, started = self.clock(), perf_counter()
        parcel = Parcel(
            delivery_id=target.delivery_id,
            request_id=delivery.request_id,
            at=at,
            created_at=delivery.created_at,
            content=delivery.content,
            body=body,
            context=delivery.context,
            robot=robot,
            traceparent=delivery.traceparent,
        )
        outcome = await self._send(delivery.mode, target, parcel)
        latency_ms = round((perf_counter() - started) * 1000)
        attempted = record(target, outcome, at=at, latency_ms=latency_ms, now=self.clock(), schedule=self.schedule)
        _log(delivery, attempted)
        return attempted

    async def _send(self, mode: ExecutorMode, target: Target, parcel: Parcel) -> Outcome:
        channel = self.channels[target.type] if mode is ExecutorMode.STANDARD else self.recording
        try:
            async with asyncio.timeout(self.timeout):
                sent = await channel.send(config_of(target), parcel)
        except Permanent as error:
            return Refused(_reason(error), details=getattr(error, "details", None))
        except Transient as error:
            return Unreached(_reason(error), after=error.after, details=getattr(error, "details", None))
        except TimeoutError:
            return Unreached(f"no answer within {self.timeout:g} s")
        except Exception as bug:  # a bug in one channel must not send to the other targets again
            logger().exception("channel failed", delivery_id=target.delivery_id, channel=target.type.value)
            return Unreached(f"the channel {target.type} failed: {type(bug).__name__}")
        return Reached(sent.recipients, sent.details)


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
