"""The feed on a real server: numbered without gaps and duplicates, from any replica and after any resend."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from nats.js.errors import APIError, ServerError

from rota_common.bus.feed import IN_A_ROW, Feed
from rota_common.bus.publishing import NotInCatalog
from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.bus import shorten_duplicate_window, stored
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts.catalog import DELIVERY_SETTLED, FEED
from rota_contracts.messages.delivery import DeliveryContext, DeliverySettledV1
from rota_contracts.messages.trigger import TriggerType
from tests.integration.common.harness import jetstream

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class InMemoryCounts:
    """What was saved of a subject's count."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts, self.asked = dict(counts or {}), 0

    async def last(self, subject: str) -> int:
        self.asked += 1
        return self.counts.get(subject, 0)

    async def keep(self, counts: Mapping[str, int]) -> None:
        self.counts |= counts


def a_fact(member: str = MEMBER) -> DeliverySettledV1:
    context = DeliveryContext(team_id=TEAM, member_id=member, execution_id="e1", trigger_type=TriggerType.EVENT)
    return DeliverySettledV1(team_id=TEAM, member_id=member, request_id="r1", context=context, results=[], success=True)


class Publisher:
    """One replica. `sent` are the messages that it gave to the server."""

    def __init__(self, service: Service, counts: InMemoryCounts, **given: Any) -> None:
        self.service, self.sent = service, 0
        self.feed = Feed(service.bus, service.publish, counts=counts, clock=now, **given)
        real = service.bus.jetstream.publish

        async def counted(*args: Any, **more: Any) -> Any:
            self.sent += 1
            return await real(*args, **more)

        service.bus.jetstream.publish = counted  # type: ignore[method-assign]  # only so can it be counted

    async def publish(self, cause: str, *, member: str = MEMBER, **given: Any) -> int | None:
        """The number that it was stored under; None if it was there already."""
        since = given.pop("since", now())
        return (await self.feed(DELIVERY_SETTLED, a_fact(member), caused_by=cause, since=since, **given)).sequence


@contextlib.asynccontextmanager
async def publishing(url: str, counts: InMemoryCounts | None = None, **given: Any) -> AsyncIterator[Publisher]:
    service = Service("delivery-center", url)
    await service.start()
    await service.started.wait()
    yield Publisher(service, counts or InMemoryCounts(), **given)
    await service.stop(1)


async def counted(url: str) -> list[tuple[int | None, str]]:
    """Number and cause of all that the stream has, oldest first."""
    return [(event.sequence, event.cause) for event in await stored(url, DELIVERY_SETTLED)]


async def test_the_facts_of_each_robot_are_numbered_from_one(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        numbers = [await replica.publish(f"c{n}", member=member) for n, member in enumerate(("ann", "bob", "ann"))]
        assert numbers == [1, 1, 2]
        assert replica.sent == 3
    assert await counted(nats.url) == [(1, "c0"), (1, "c1"), (2, "c2")]


async def test_concurrent_facts_of_one_process_are_each_published_once(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        numbers = await asyncio.gather(*(replica.publish(f"c{n}") for n in range(100)))
        assert sorted(numbers, key=lambda number: number or 0) == list(range(1, 101))
        assert replica.sent == 100


async def test_four_replicas_number_one_subject_without_gaps_or_duplicates(nats: EmbeddedServer) -> None:
    counts = InMemoryCounts()
    async with contextlib.AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(publishing(nats.url, counts)) for _ in range(4)]

        async def many(number: int, replica: Publisher) -> None:
            for n in range(200):
                await replica.publish(f"{number}/{n}")

        await asyncio.gather(*(many(number, replica) for number, replica in enumerate(replicas)))
    found = await counted(nats.url)
    assert [number for number, _ in found] == list(range(1, 801))
    assert {cause for _, cause in found} == {f"{number}/{n}" for number in range(4) for n in range(200)}


async def test_four_replicas_that_publish_the_same_facts_store_each_once(nats: EmbeddedServer) -> None:
    await shorten_duplicate_window(nats.url, FEED)
    async with contextlib.AsyncExitStack() as stack:
        replicas = [await stack.enter_async_context(publishing(nats.url)) for _ in range(4)]

        async def many(replica: Publisher) -> None:
            for n in range(50):
                await replica.publish(f"c{n}", again=True)

        await asyncio.gather(*(many(replica) for replica in replicas))
    found = await counted(nats.url)
    assert [number for number, _ in found] == list(range(1, 51))
    assert len({cause for _, cause in found}) == 50


async def test_a_replica_that_lost_a_race_continues_from_the_winner(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as one, publishing(nats.url) as other:
        assert await one.publish("c1") == 1
        assert [await other.publish(f"d{n}") for n in range(3)] == [2, 3, 4]
        assert await one.publish("c2") == 5


async def test_a_replica_with_a_long_queue_lets_another_have_its_turn(
    nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rota_common.bus.feed.PAUSE_TRIPS", 200)  # enough on a machine that stands still for a moment
    async with publishing(nats.url) as one, publishing(nats.url) as other:
        known = [await replica.publish(f"c{n}") for n, replica in enumerate((one, other, one))]
        queue = asyncio.gather(*(one.publish(f"d{n}") for n in range(80)))
        numbers = [await other.publish(f"e{n}") for n in range(20)]
        await queue
    waited = [late - before - 1 for before, late in pairwise([known[-1] or 0, *(number or 0 for number in numbers)])]
    assert max(waited) <= IN_A_ROW + 1, waited


@pytest.mark.parametrize("again", [True, False], ids=["marked as resent", "after a restart"])
async def test_a_fact_resent_after_the_duplicate_window_is_not_stored_twice(nats: EmbeddedServer, again: bool) -> None:
    await shorten_duplicate_window(nats.url, FEED)
    since = now()
    async with publishing(nats.url) as replica:
        await replica.publish("c1", since=since)
        await replica.publish("c2", since=since)
        await asyncio.sleep(0.3)  # the window of ids
        if again:
            assert await replica.publish("c1", since=since, again=True) is None
    async with publishing(nats.url) as successor:
        assert await successor.publish("c1", since=since, again=again) is None
        assert successor.sent == 0
        assert await successor.publish("c3") == 3
    assert await counted(nats.url) == [(1, "c1"), (2, "c2"), (3, "c3")]


async def test_a_fact_is_found_by_its_position_whatever_the_clocks_say(nats: EmbeddedServer) -> None:
    await shorten_duplicate_window(nats.url, FEED)
    fast = now() + timedelta(hours=1)
    async with publishing(nats.url) as replica:
        await replica.publish("c0")
        before = await replica.feed.position()
        await replica.publish("c1", since=fast)
        assert await replica.feed.position() == before + 1
        await asyncio.sleep(0.3)  # the window of ids
    async with publishing(nats.url) as successor:
        assert await successor.publish("c1", since=fast, again=True, after=before) is None
        assert await successor.publish("c1", since=fast, again=True) is None  # its position isn't known
        assert await successor.publish("c2", since=fast, again=True, after=before) == 3
    assert await counted(nats.url) == [(1, "c0"), (2, "c1"), (3, "c2")]


async def test_the_stream_is_searched_for_an_old_fact_also_without_again(nats: EmbeddedServer) -> None:
    await shorten_duplicate_window(nats.url, FEED)
    async with publishing(nats.url) as paused, publishing(nats.url) as other:
        await paused.publish("c0")
        await other.publish("c1")
        await paused.publish("c2")
        await asyncio.sleep(0.3)  # the window of ids
        assert await paused.publish("c1", since=now() - timedelta(minutes=5)) is None
    assert await counted(nats.url) == [(1, "c0"), (2, "c1"), (3, "c2")]


async def test_a_fact_is_found_among_more_messages_than_one_batch_holds(nats: EmbeddedServer) -> None:
    await shorten_duplicate_window(nats.url, FEED)
    async with publishing(nats.url) as replica:
        await asyncio.gather(*(replica.publish(f"c{n}") for n in range(600)))
        await asyncio.sleep(0.3)  # the window of ids
        assert await replica.publish("c299", since=LONG_AGO, again=True) is None
        assert await replica.publish("c599", since=LONG_AGO, again=True) is None
        assert await replica.publish("new", since=LONG_AGO, again=True) == 601


async def test_within_the_duplicate_window_numbering_continues(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        await replica.publish("c1")
        await replica.publish("c2")
        assert await replica.publish("c1") is None
        assert await replica.publish("c3") == 3
    assert await counted(nats.url) == [(1, "c1"), (2, "c2"), (3, "c3")]


async def test_a_lost_acknowledgement_makes_no_duplicate_and_no_gap(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        await replica.publish("c1")
        real, losing = replica.service.bus.jetstream.publish, [True]

        async def lossy(*args: Any, **given: Any) -> Any:
            ack = await real(*args, **given)
            if losing.pop() if losing else False:
                raise TimeoutError("the answer was lost")
            return ack

        replica.service.bus.jetstream.publish = lossy  # type: ignore[method-assign]  # only so can it be lost
        with pytest.raises(TimeoutError):
            await replica.publish("c2")
        assert await replica.publish("c3") == 3
        assert await replica.publish("c2", again=True) is None
    assert await counted(nats.url) == [(1, "c1"), (2, "c2"), (3, "c3")]


async def test_numbering_continues_when_the_stream_has_no_message_of_a_robot_left(nats: EmbeddedServer) -> None:
    counts = InMemoryCounts({DELIVERY_SETTLED.subject(TEAM, MEMBER): 41})
    async with publishing(nats.url, counts) as replica:
        assert await replica.publish("c1") == 42
        async with jetstream(nats.url) as js:
            await js.purge_stream(FEED)
        assert await replica.publish("c2") == 43
        assert counts.asked == 2
    async with publishing(nats.url, counts) as successor:
        assert await successor.publish("c3") == 44
        assert counts.asked == 2


async def test_numbers_are_saved(nats: EmbeddedServer) -> None:
    counts = InMemoryCounts()
    async with publishing(nats.url, counts) as replica:
        await replica.publish("c1")
        await replica.publish("c2")
        await replica.feed.save_counts()
    assert counts.counts == {DELIVERY_SETTLED.subject(TEAM, MEMBER): 2}


async def test_more_robots_than_are_cached_are_numbered_correctly(nats: EmbeddedServer) -> None:
    async with publishing(nats.url, remembered=2) as replica:
        for expected in (1, 2):
            numbers = [await replica.publish(f"c{expected}/{n}", member=f"m{n}") for n in range(5)]
            assert numbers == [expected] * 5


async def test_a_rejected_fact_is_raised_and_its_number_used_again(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        real = replica.service.bus.jetstream.publish

        async def refusing(*_: Any, **__: Any) -> Any:
            raise ServerError(code=500, err_code=10077, description="the stream is full")

        replica.service.bus.jetstream.publish = refusing  # type: ignore[method-assign]  # a full stream
        with pytest.raises(ServerError):
            await replica.publish("c1")
        replica.service.bus.jetstream.publish = real  # type: ignore[method-assign]  # it has room again
        assert await replica.publish("c1", again=True) == 1


async def test_a_replica_that_loses_every_race_gives_up(nats: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.feed.PATIENCE_S", 0.05)
    async with publishing(nats.url) as replica:

        async def late(*_: Any, **__: Any) -> Any:
            raise APIError(code=400, err_code=10164, description="wrong last sequence")

        replica.service.bus.jetstream.publish = late  # type: ignore[method-assign]  # a cluster that is busy for ever
        with pytest.raises(Transient, match="other replicas won every race"):
            await replica.publish("c1")


async def test_facts_of_the_feed_are_published_through_the_feed_alone(nats: EmbeddedServer) -> None:
    async with publishing(nats.url) as replica:
        with pytest.raises(NotInCatalog, match=r"rota_common\.bus\.feed"):
            await replica.service.publish(DELIVERY_SETTLED, a_fact(), caused_by="c1")
