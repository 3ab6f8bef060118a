"""Ingesting events: repeats are found, answered as the first time, and start nothing (TG-31, DEC-6)."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from rota_common.errors import Transient
from rota_contracts.ids import event_trigger_id
from rota_contracts.messages.trigger import TriggerReceivedV1
from rota_contracts.robots.events import EventSubscription
from trigger_gateway.adapters.in_memory_inbound_log import InMemoryInboundLog, InMemoryRateStore
from trigger_gateway.problems import Conflict, TooMany
from trigger_gateway.robots.record import Subscriber
from trigger_gateway.robots.routes import Route
from trigger_gateway.runs.backlogs import Backlogs
from trigger_gateway.sources.source import Source, WebhookSettings
from trigger_gateway.webhooks.inbound_event import InboundEvent, StartedRun
from trigger_gateway.webhooks.inbound_log import LogEntry
from trigger_gateway.webhooks.ingest_event import IngestEvent, IngestResult
from trigger_gateway.webhooks.rate_limits import RateLimiter, RateLimits

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
EVENT = InboundEvent("acme", "leads", "e1", "lead.created", {}, AT)
RUN = (StartedRun(event_trigger_id("acme", "leads", "e1", "leader"), "leader"),)
LEADS = EventSubscription.model_validate({"type": "webhook", "source": "leads"})


class Publishing:
    """Counts how often a trigger is published; `gate` delays it, `fails` makes it fail, `new` is what it returns."""

    def __init__(self) -> None:
        self.times, self.new = 0, True
        self.fails: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def publish(self, trigger: TriggerReceivedV1, *, trace: str = "") -> bool:
        self.times += 1
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return self.new


@dataclass
class Harness:
    """The source `leads`, to which the robot `leader` subscribes."""

    log: InMemoryInboundLog = field(default_factory=InMemoryInboundLog)
    triggers: Publishing = field(default_factory=Publishing)
    limit: int | None = None

    def __post_init__(self) -> None:
        rates = RateLimiter(store=InMemoryRateStore(), clock=lambda: AT, limits=RateLimits())
        self._ingest = IngestEvent(rates=rates, triggers=self.triggers, log=self.log, backlogs=Backlogs())

    async def ingest(self, digest: str = "d") -> IngestResult:
        settings: dict[str, Any] = {"secrets": ["$ENV.X"], "rate_limit": self.limit}
        source = Source("acme", "leads", AT, WebhookSettings.model_validate(settings))
        return await self._ingest(EVENT, digest, Route(source, (Subscriber("leader", 1, (LEADS,)),)))

    async def count(self) -> int:
        line = await self.log.find("acme", "leads", "e1")
        return line.count if line else 0


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def test_a_repeat_gets_the_stored_answer_and_starts_nothing(harness: Harness) -> None:
    first, second = await harness.ingest(), await harness.ingest()
    assert (first.repeated, second.repeated, harness.triggers.times) == (False, True, 1)
    assert first.runs == second.runs == RUN
    assert await harness.count() == 2


async def test_another_body_under_the_same_id_is_refused(harness: Harness) -> None:
    await harness.ingest()
    with pytest.raises(Conflict, match="another body"):
        await harness.ingest("other")
    assert (harness.triggers.times, await harness.count()) == (1, 1)


async def test_concurrent_posts_of_one_event_wait_for_the_first(harness: Harness) -> None:
    harness.triggers.gate.clear()
    waiting = [asyncio.create_task(harness.ingest(digest)) for digest in ["d"] * 50 + ["other"] * 50]
    await asyncio.sleep(0)
    harness.triggers.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert harness.triggers.times == 1
    assert [type(each) for each in results[50:]] == [Conflict] * 50
    answers = [each for each in results[:50] if not isinstance(each, BaseException)]
    assert sorted(each.repeated for each in answers) == [False] + [True] * 49
    assert await harness.count() == 50


async def test_a_failure_of_the_first_is_shared_and_the_next_post_tries_again(harness: Harness) -> None:
    harness.triggers.fails = Transient("NATS: not connected")
    harness.triggers.gate.clear()
    waiting = [asyncio.create_task(harness.ingest()) for _ in range(5)]
    await asyncio.sleep(0)
    harness.triggers.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results] == [Transient] * 5
    assert (harness.triggers.times, await harness.count()) == (1, 0)
    harness.triggers.fails = None
    assert (await harness.ingest()).repeated is False


async def test_concurrent_posts_beyond_the_sources_limit_are_all_refused() -> None:
    harness = Harness(limit=1)
    other = InboundEvent("acme", "leads", "e0", "lead.created", {}, AT)
    settings = WebhookSettings.model_validate({"secrets": ["$ENV.X"], "rate_limit": 1})
    await harness._ingest(other, "d", Route(Source("acme", "leads", AT, settings), ()))
    results = await asyncio.gather(*(harness.ingest() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in results] == [TooMany] * 3
    assert (harness.triggers.times, await harness.count()) == (0, 0)


async def test_a_cancelled_post_leaves_the_event_to_those_that_wait(harness: Harness) -> None:
    harness.triggers.gate.clear()
    first = asyncio.create_task(harness.ingest())
    second = asyncio.create_task(harness.ingest())
    await asyncio.sleep(0)
    first.cancel()
    harness.triggers.gate.set()
    assert (await second).runs == RUN
    assert first.cancelled()
    assert harness.triggers.times == 1


async def test_an_event_that_another_replica_stores_just_now_is_its_repeat(harness: Harness) -> None:
    harness.triggers.new, harness.log.late = False, [LogEntry(EVENT, RUN, "d")]
    assert (await harness.ingest()).repeated is True
    assert await harness.count() == 2


async def test_another_body_that_another_replica_stores_just_now_is_refused(harness: Harness) -> None:
    harness.triggers.new, harness.log.late = False, [LogEntry(EVENT, RUN, "other")]
    with pytest.raises(Conflict):
        await harness.ingest()


async def test_an_event_that_was_published_and_never_logged_is_logged_by_its_repeat(harness: Harness) -> None:
    harness.triggers.new = False  # the first one's gateway was killed after the publish
    result = await harness.ingest()
    assert (result.repeated, result.runs) == (True, RUN)
    assert await harness.count() == 1


async def test_while_the_log_cannot_be_read_nothing_is_published(harness: Harness) -> None:
    harness.log.away = True
    with pytest.raises(Transient):
        await harness.ingest()
    assert harness.triggers.times == 0


async def test_an_entry_from_before_digests_counts_as_the_same(harness: Harness) -> None:
    await harness.log.add(LogEntry(EVENT, RUN))
    assert (await harness.ingest()).repeated is True
