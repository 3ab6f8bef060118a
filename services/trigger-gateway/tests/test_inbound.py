"""Events that come again: recognised, answered as the first time, and started once (TG-31, DEC-6)."""

import asyncio
from datetime import UTC, datetime

import pytest

from rota_common.errors import Transient
from trigger_gateway.adapters.in_memory_inbound_log import MemoryInboundLog
from trigger_gateway.problems import Conflict, TooMany
from trigger_gateway.webhooks.inbound_event import InboundEvent, Woken
from trigger_gateway.webhooks.inbound_log import Logged
from trigger_gateway.webhooks.ingest_event import Recognise, Taken

EVENT = InboundEvent("acme", "leads", "e1", "lead.created", {}, datetime(2026, 3, 2, 9, 0, tzinfo=UTC))
WOKEN = (Woken("t1", "leader"),)


class Accepting:
    """Counts how often an event is accepted; `gate` holds it up, `fails` makes it fail."""

    def __init__(self, *, new: bool = True, fails: Exception | None = None) -> None:
        self.times, self.new, self.fails = 0, new, fails
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> Taken:
        self.times += 1
        await self.gate.wait()
        if self.fails is not None:
            raise self.fails
        return Taken(WOKEN, self.new)


@pytest.fixture
def log() -> MemoryInboundLog:
    return MemoryInboundLog()


@pytest.fixture
def recognise(log: MemoryInboundLog) -> Recognise:
    return Recognise(log)


async def count(log: MemoryInboundLog) -> int:
    line = await log.find("acme", "leads", "e1")
    return line.count if line else 0


async def test_a_repeat_gets_the_stored_answer_and_starts_nothing(log: MemoryInboundLog, recognise: Recognise) -> None:
    accept = Accepting()
    first, second = await recognise(EVENT, "d", accept), await recognise(EVENT, "d", accept)
    assert (first.repeated, second.repeated, accept.times) == (False, True, 1)
    assert first.woken == second.woken == WOKEN
    assert await count(log) == 2


async def test_another_body_under_the_same_id_is_refused(log: MemoryInboundLog, recognise: Recognise) -> None:
    accept = Accepting()
    await recognise(EVENT, "d", accept)
    with pytest.raises(Conflict, match="another body"):
        await recognise(EVENT, "other", accept)
    assert (accept.times, await count(log)) == (1, 1)


async def test_those_that_come_at_once_wait_for_the_first(log: MemoryInboundLog, recognise: Recognise) -> None:
    accept = Accepting()
    accept.gate.clear()
    waiting = [asyncio.create_task(recognise(EVENT, digest, accept)) for digest in ["d"] * 50 + ["other"] * 50]
    await asyncio.sleep(0)
    accept.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert accept.times == 1
    assert [type(each) for each in results[50:]] == [Conflict] * 50
    answers = [each for each in results[:50] if not isinstance(each, BaseException)]
    assert sorted(each.repeated for each in answers) == [False] + [True] * 49
    assert await count(log) == 50


async def test_a_failure_of_the_first_is_shared_and_burns_nothing(log: MemoryInboundLog, recognise: Recognise) -> None:
    accept = Accepting(fails=Transient("NATS: not connected"))
    accept.gate.clear()
    waiting = [asyncio.create_task(recognise(EVENT, "d", accept)) for _ in range(5)]
    await asyncio.sleep(0)
    accept.gate.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results] == [Transient] * 5
    assert (accept.times, await count(log)) == (1, 0)
    accept.fails = None
    assert (await recognise(EVENT, "d", accept)).repeated is False


async def test_a_refusal_of_the_first_is_its_own(recognise: Recognise) -> None:
    accept = Accepting(fails=TooMany("rate_limited", "too many", after=1))
    results = await asyncio.gather(*(recognise(EVENT, "d", accept) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in results] == [TooMany] * 3
    assert accept.times == 3


async def test_one_that_is_given_up_leaves_the_event_to_the_next(recognise: Recognise) -> None:
    accept = Accepting()
    accept.gate.clear()
    first = asyncio.create_task(recognise(EVENT, "d", accept))
    second = asyncio.create_task(recognise(EVENT, "d", accept))
    await asyncio.sleep(0)
    first.cancel()
    accept.gate.set()
    assert (await second).repeated is False


async def test_an_event_that_another_replica_stores_just_now_is_its_repeat(
    log: MemoryInboundLog, recognise: Recognise
) -> None:
    log.late = [Logged(EVENT, WOKEN, "d")]
    assert (await recognise(EVENT, "d", Accepting(new=False))).repeated is True
    assert await count(log) == 2


async def test_another_body_that_another_replica_stores_just_now_is_refused(
    log: MemoryInboundLog, recognise: Recognise
) -> None:
    log.late = [Logged(EVENT, WOKEN, "other")]
    with pytest.raises(Conflict):
        await recognise(EVENT, "d", Accepting(new=False))


async def test_an_event_that_was_stored_and_never_noted_is_noted_by_its_repeat(
    log: MemoryInboundLog, recognise: Recognise
) -> None:  # the first one's gateway was killed after the publish
    received = await recognise(EVENT, "d", Accepting(new=False))
    assert (received.repeated, received.woken) == (True, WOKEN)
    assert await count(log) == 1


async def test_while_the_log_cannot_be_read_nothing_is_accepted(log: MemoryInboundLog, recognise: Recognise) -> None:
    log.away, accept = True, Accepting()
    with pytest.raises(Transient):
        await recognise(EVENT, "d", accept)
    assert accept.times == 0


async def test_an_entry_from_before_digests_counts_as_the_same(log: MemoryInboundLog, recognise: Recognise) -> None:
    await log.add(Logged(EVENT, WOKEN))
    assert (await recognise(EVENT, "d", Accepting())).repeated is True
