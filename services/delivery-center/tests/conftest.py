"""Robots, requests and outgoing messages of tests; the use cases over adapters in memory, with a clock to set."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from delivery_center.adapters.in_memory import (
    InlineTexts,
    InMemoryFeedPublisher,
    InMemoryFiles,
    InMemoryRobots,
    ScriptedChannel,
    ScriptedExecutions,
)
from delivery_center.adapters.in_memory_deliveries import InMemoryDeliveries
from delivery_center.adapters.in_memory_targets import InMemoryTargetEvents, InMemoryTargets
from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.deliver import Deliver
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.retry import Finish, Retry
from delivery_center.attempts.stop_retries import StopRetries
from delivery_center.domain.delivery import Delivery
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.domain.retry_policy import RetryPolicy
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_contracts.envelope import Event
from rota_contracts.messages.control import ControlGivenV1
from rota_contracts.messages.delivery import (
    ChannelResult,
    DeliveryContent,
    DeliveryContext,
    DeliveryRequestedV1,
    DeliveryType,
)
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.run_trace import TraceSpan
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Robot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LEASE = timedelta(seconds=40)


def make_robot(delivery: dict[str, Any] | None = None, **fields: Any) -> Robot:
    config = {"identity": {"role": "analyst"}, "delivery": delivery or {}}
    return Robot.model_validate({"team_id": "acme", "member_id": "ann", "robot_config": config} | fields)


def make_request(**fields: Any) -> DeliveryRequestedV1:
    context = {"team_id": "acme", "member_id": "ann", "execution_id": "e1", "trigger_type": "event"}
    content = {"summary": "All done.", "body": {"inline": "# Report"}}
    given = {"team_id": "acme", "member_id": "ann", "request_id": "r1", "content": content, "context": context}
    return DeliveryRequestedV1.model_validate(given | fields)


def make_outgoing(**fields: Any) -> OutgoingMessage:
    given: dict[str, Any] = {
        "delivery_id": "d1",
        "request_id": "r1",
        "at": NOON,
        "created_at": NOON,
        "content": DeliveryContent(summary="All done.", body=Text(inline="# Report")),
        "body": "# Report",
        "context": DeliveryContext(team_id="acme", member_id="ann", execution_id="e1", trigger_type=TriggerType.EVENT),
        "robot": make_robot(display_name="Ann", robot_email="ann@acme.example"),
    }
    return OutgoingMessage(**given | fields)


class Harness:
    """The use cases over adapters in memory. `now` is the time; `channels` are scripted."""

    def __init__(self, *robots: Robot, deliveries: InMemoryDeliveries | None = None, timeout: float = 1) -> None:
        self.now = NOON
        self.deliveries = deliveries or InMemoryDeliveries()
        self.deliveries.clock = self.clock
        self.targets = InMemoryTargets(self.deliveries)
        self.robots = InMemoryRobots(*robots)
        self.texts = InlineTexts()
        self.files = InMemoryFiles()
        self.channels = {kind: ScriptedChannel() for kind in DeliveryType}
        self.recording = ScriptedChannel()
        self.executions = ScriptedExecutions()
        self.publisher = InMemoryFeedPublisher()
        self.target_events = InMemoryTargetEvents()
        self.paused = PausedExecutions()
        self.breakers = self.replica()
        stores: dict[str, Any] = {"deliveries": self.deliveries, "clock": self.clock}
        attempts: dict[str, Any] = {
            "robots": self.robots,
            "check_permission": CheckPermission(executions=self.executions, paused=self.paused),
            "attempt": self._attempt(timeout),
        }
        finish = Finish(deliveries=self.deliveries, publisher=self.publisher)
        self._deliver = Deliver(**stores, **attempts, publisher=self.publisher)
        self.retry = Retry(**stores, **attempts, finish=finish, lease=LEASE)
        self._stop_retries = StopRetries(deliveries=self.deliveries, finish=finish, lease=LEASE)

    def _attempt(self, timeout: float) -> AttemptTargets:
        return AttemptTargets(
            channels=self.channels,
            recording=self.recording,
            texts=self.texts,
            files=self.files,
            paused=self.paused,
            breakers=self.breakers,
            limits=ConcurrencyLimits(8, max_wait=0.05),
            clock=self.clock,
            policy=RetryPolicy((5, 30), Random(7)),
            timeout=timeout,
        )

    def export(self, take: Callable[[Sequence[TraceSpan]], None]) -> None:
        """From now on the spans of attempts go there."""
        attempt = replace(self._deliver.attempt, export=take)
        self._deliver = replace(self._deliver, attempt=attempt)
        self.retry = replace(self.retry, attempt=attempt)

    def clock(self) -> datetime:
        return self.now

    def replica(self) -> CircuitBreakers:
        """The circuit breakers of one replica."""
        return CircuitBreakers(
            store=self.targets,
            events=self.target_events,
            clock=self.clock,
            random=Random(7),
            disable_after=timedelta(days=5),
            probe_for=timedelta(seconds=12),
        )

    @property
    def webhook(self) -> ScriptedChannel:
        return self.channels[DeliveryType.WEBHOOK]

    def pass_time(self, **amount: float) -> None:
        self.now += timedelta(**amount)

    async def deliver(self, request: DeliveryRequestedV1, *, at: datetime | None = None, trace: str = "") -> None:
        """Handle a request that was published `at`."""
        event = Event("f1", "delivery.requested", "executor", at or self.now, request, traceparent=trace)
        await self._deliver(event)

    async def stop_retries(self, team: str, member: str) -> None:
        """Handle the deletion of a robot."""
        deleted = RobotDeletedV1(team_id=team, member_id=member, rev=2)
        await self._stop_retries(Event("f2", "robot.deleted", "trigger-gateway", self.now, deleted))

    async def send(self, *numbers: int) -> list[ChannelResult]:
        """Deliver requests r<number>; returns the first results of their first targets."""
        for number in numbers:
            await self.deliver(make_request(request_id=f"r{number}"))
        return [accepted.result.results[0] for accepted in self.published("delivery.accepted")[-len(numbers) :]]

    async def retry_what_is_due(self) -> int:
        """The number of deliveries that were due."""
        count = 0
        while (delivery := await self.retry.claim()) is not None:
            await self.retry(delivery)
            count += 1
        return count

    def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        """A signal of an executor."""
        owner = {"team_id": "acme", "member_id": "_all_"}
        given = {"action": action, "execution_ids": execution_ids or ["e1"], "reason": reason, "at": self.now}
        signal = ControlGivenV1.model_validate(owner | given)
        self.paused.apply(Event("f3", "control.given", "executor", self.now, signal))

    async def stored(self) -> Delivery:
        found = await self.deliveries.find("r1")
        assert found is not None
        return found

    def published(self, name: str) -> list[Any]:
        """The payloads published on a channel, oldest first."""
        return [fact.data for fact in self.publisher.facts if fact.channel.name == name]


@pytest.fixture
def robot() -> Callable[..., Robot]:
    return make_robot


@pytest.fixture
def request_for() -> Callable[..., DeliveryRequestedV1]:
    return make_request


@pytest.fixture
def outgoing() -> Callable[..., OutgoingMessage]:
    return make_outgoing


@pytest.fixture
def new_harness() -> type[Harness]:
    return Harness
