"""A robot, a request and a parcel, as tests want them; a clock that a test sets."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from delivery_center.adapters.in_memory import (
    InlineTexts,
    InMemoryDeliveries,
    InMemoryFeedPublisher,
    InMemoryFiles,
    InMemoryRobots,
    ScriptedChannel,
    ScriptedExecutions,
)
from delivery_center.adapters.in_memory_targets import InMemoryTargetEvents, InMemoryTargets
from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.deliver import Deliver
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.retry import Finish, Retry
from delivery_center.attempts.stop_retries import StopRetries
from delivery_center.domain.delivery import Delivery, RetryPolicy
from delivery_center.ports import Deliveries, OutgoingMessage
from delivery_center.targets.circuit_breakers import CircuitBreakers
from rota_contracts.messages.control import ControlGivenV1
from rota_contracts.messages.delivery import (
    ChannelResult,
    DeliveryContent,
    DeliveryContext,
    DeliveryRequestedV1,
    DeliveryType,
)
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


def make_parcel(**fields: Any) -> OutgoingMessage:
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
    """The use cases over fakes. `now` is the time; `channels` are scripted."""

    def __init__(self, *robots: Robot, deliveries: Deliveries | None = None, timeout: float = 1) -> None:
        self.now = NOON
        self.deliveries = deliveries or InMemoryDeliveries()
        self.robots, self.publisher, self.texts = InMemoryRobots(*robots), InMemoryFeedPublisher(), InlineTexts()
        self.files = InMemoryFiles()
        self.channels = {kind: ScriptedChannel() for kind in DeliveryType}
        self.recording = ScriptedChannel()
        self.executions, self.paused = ScriptedExecutions(), PausedExecutions()
        self.targets, self.target_events = InMemoryTargets(), InMemoryTargetEvents()
        self.breakers = self.replica()
        leave = CheckPermission(self.executions, self.paused)
        attempt = AttemptTargets(
            channels=self.channels,
            recording=self.recording,
            texts=self.texts,
            files=self.files,
            paused=self.paused,
            breakers=self.breakers,
            limits=ConcurrencyLimits(8, patience=0.05),
            clock=self.clock,
            retry_policy=RetryPolicy((5, 30), Random(7)),
            timeout=timeout,
        )
        self.deliver = Deliver(self.deliveries, self.robots, leave, attempt, self.publisher, self.clock)
        finish = Finish(self.deliveries, self.publisher)
        self.retry = Retry(self.deliveries, self.robots, leave, attempt, finish, self.clock, LEASE)
        self.stop_retries = StopRetries(self.deliveries, finish, self.clock, LEASE)

    def clock(self) -> datetime:
        return self.now

    def replica(self) -> CircuitBreakers:
        """What one replica knows of the targets."""
        return CircuitBreakers(
            self.targets,
            self.target_events,
            clock=self.clock,
            random=Random(7),
            patience=timedelta(days=5),
            probe_for=timedelta(seconds=12),
        )

    @property
    def webhook(self) -> ScriptedChannel:
        return self.channels[DeliveryType.WEBHOOK]

    def pass_time(self, **amount: float) -> None:
        self.now += timedelta(**amount)

    async def send(self, *numbers: int) -> list[ChannelResult]:
        """Requests r<number>, and how their first targets fared at first."""
        for number in numbers:
            await self.deliver(make_request(request_id=f"r{number}"))
        return [accepted.result.results[0] for accepted in self.published("delivery.accepted")[-len(numbers) :]]

    async def retry_what_is_due(self) -> int:
        """How many deliveries were due."""
        count = 0
        while (delivery := await self.retry.claim()) is not None:
            await self.retry(delivery)
            count += 1
        return count

    def control(self, action: str, *execution_ids: str, reason: str = "") -> None:
        """As the executors say it to all."""
        owner = {"team_id": "acme", "member_id": "_all_"}
        given = {"action": action, "execution_ids": execution_ids or ["e1"], "reason": reason, "at": self.now}
        self.paused.hear(ControlGivenV1.model_validate(owner | given))

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
    return make_parcel


@pytest.fixture
def new_harness() -> type[Harness]:
    return Harness
