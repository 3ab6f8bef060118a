"""The inbound log and the shared limits keep the same promises in memory as in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.errors import Transient
from rota_common.stores.mongo import Mongo
from trigger_gateway.adapters import in_memory_inbound_log
from trigger_gateway.adapters.mongo_inbound_log import MongoInboundLog
from trigger_gateway.webhooks.inbound_event import InboundEvent, SentPost, StartedRun
from trigger_gateway.webhooks.inbound_log import REFUSALS_KEPT, LogEntry, Refusal, Status
from trigger_gateway.webhooks.ports import InboundLog
from trigger_gateway.webhooks.posts import BODY_KEPT, REFUSED_BODY_KEPT, KeptPost, PostLimits

AT = now().replace(minute=0, second=0, microsecond=0)
"""Of today: MongoDB forgets what is older than 30 days."""

RUN, ANOTHER = StartedRun("t1", "leader"), StartedRun("t2", "second")


def event(name: str = "evt 1", *, minutes: int = 0, **more: Any) -> InboundEvent:
    at = AT + timedelta(minutes=minutes)
    return InboundEvent("acme", "leads", name, "lead.created", {"secret": "data"}, at, **more)


def refusal(minutes: int = 0, *, reason: str = "bad_signature", **more: Any) -> Refusal:
    return Refusal("acme", "leads", reason, AT + timedelta(minutes=minutes), **more)


@pytest.fixture(params=["memory", "mongo"])
async def store(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo | None]:
    if request.param == "memory":
        yield None
    else:
        server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
        yield server
        await server.client.drop_database(server.database.name)
        await server.close()


SHARE = 20_000
"""Bytes of posts, and a sixteenth of it for refused ones."""


@pytest.fixture
async def log(store: Mongo | None) -> AsyncIterator[InboundLog]:
    async with log_of(store, PostLimits()) as made:
        yield made


@pytest.fixture
async def small(store: Mongo | None) -> AsyncIterator[InboundLog]:
    async with log_of(store, PostLimits(bytes_per_team=SHARE)) as made:
        yield made


@asynccontextmanager
async def log_of(store: Mongo | None, limits: PostLimits) -> AsyncIterator[InboundLog]:
    if store is None:
        yield in_memory_inbound_log.InMemoryInboundLog(limits)
    else:
        made = MongoInboundLog(store.database, service="test", limits=limits)
        await made.prepare()
        yield made
        await made.close()


def sent(body: str = "{}", **headers: str) -> SentPost:
    return SentPost(headers, body.encode())


async def post_of(log: InboundLog, name: str, *, team: str = "acme") -> KeptPost | None:
    line = await log.find(team, "leads", name)
    return await log.post(team, line) if line else None


async def test_the_first_post_of_an_event_is_kept_for_its_team(log: InboundLog) -> None:
    await log.add(LogEntry(event(sent=sent('{"n": 1}', accept="*/*", authorization="Bearer x")), [RUN], "d1"))
    assert await log.find("acme", "leads", "evt 1") is not None
    await log.add(LogEntry(event(minutes=5, sent=sent('{"n": 2}')), [RUN], "d2"))
    await log.add(LogEntry(event("evt 2"), [], "d3"))
    kept = await post_of(log, "evt 1")
    headers = {"accept": "*/*", "authorization": "[REDACTED]"}
    assert kept == KeptPost("acme", AT, headers, b'{"n": 1}', 8)
    assert await post_of(log, "evt 2") is None
    line = await log.find("acme", "leads", "evt 1")
    assert line is not None
    assert await log.post("other", line) is None


async def test_the_last_of_a_line_of_refused_posts_is_kept_and_found_by_its_event_or_its_request(
    log: InboundLog,
) -> None:
    for number in range(3):
        log.refused(refusal(event_id=f"e{number}", request_id=f"r{number}", sent=sent(f"{number}")))
        await log.page("acme", "leads", page=1, page_size=1)
    assert [kept.body if (kept := await post_of(log, name)) else None for name in ("e2", "r2", "e1")] == [
        b"2",
        b"2",
        None,
    ]
    assert await log.find("acme", "other", "r2") is None
    assert await log.find("other", "leads", "r2") is None
    await log.add(LogEntry(event("e2", sent=sent("accepted")), [], "d"))
    accepted = await post_of(log, "e2")
    assert accepted is not None
    assert accepted.body == b"accepted"


async def test_a_long_body_is_cut_and_says_so_and_so_are_many_headers(log: InboundLog) -> None:
    many = {f"x-{number}": "v" * 1000 for number in range(100)}
    await log.add(LogEntry(event(sent=sent("x" * (BODY_KEPT + 1), **many)), [], "d"))
    log.refused(refusal(event_id="refused", sent=sent("x" * BODY_KEPT)))
    whole, refused = await post_of(log, "evt 1"), await post_of(log, "refused")
    assert whole is not None
    assert refused is not None
    assert (len(whole.body), whole.size, whole.is_cut) == (BODY_KEPT, BODY_KEPT + 1, True)
    assert (len(refused.body), refused.size, refused.is_cut) == (REFUSED_BODY_KEPT, BODY_KEPT, True)
    assert sum(map(len, whole.headers.values())) < 10_000


async def test_the_oldest_posts_of_a_team_go_beyond_its_share_and_no_other_teams(small: InboundLog) -> None:
    other = replace(event("theirs"), team="other", sent=sent("theirs"))
    await small.add(LogEntry(other, [], "d"))
    log_lines = [event(f"e{number}", minutes=number, sent=sent("x" * 1000)) for number in range(50)]
    for each in log_lines:
        await small.add(LogEntry(each, [], "d"))
        await small.find("acme", "leads", each.id)
    kept = [each.id for each in log_lines if await post_of(small, each.id)]
    assert kept == [f"e{number}" for number in range(50 - len(kept), 50)]
    assert 15 <= len(kept) <= SHARE // 1000
    assert await post_of(small, "theirs", team="other") is not None


async def test_a_flood_of_refused_posts_removes_no_accepted_one(small: InboundLog) -> None:
    await small.add(LogEntry(event(sent=sent("accepted")), [], "d"))
    for minutes in range(30):
        small.refused(refusal(minutes, request_id=f"r{minutes}", sent=sent("x" * 200)))
        await small.find("acme", "leads", "evt 1")
    kept = [minutes for minutes in range(30) if await post_of(small, f"r{minutes}")]
    assert kept == list(range(30 - len(kept), 30))
    assert 1 <= len(kept) <= SHARE // 16 // 200
    assert await post_of(small, "evt 1") is not None


async def test_an_event_is_recalled_by_its_body_in_its_own_source(log: InboundLog) -> None:
    await log.add(LogEntry(event(), [RUN], "d1"))
    await log.add(LogEntry(event("evt 2", minutes=1), [ANOTHER], "d2"))
    for _ in range(2):  # before and after it was written
        found = await log.recall_body("acme", "leads", "d1")
        assert found is not None
        assert (found.event.id, list(found.runs)) == ("evt 1", [RUN])
        await log.page("acme", "leads", page=1, page_size=1)
    assert await log.recall_body("acme", "other", "d1") is None
    assert await log.recall_body("acme", "leads", "d3") is None


async def test_refusals_of_different_causes_are_lines_of_their_own(log: InboundLog) -> None:
    for cause in ("no_match: a", "timestamp_ahead: sent at 1", "timestamp_ahead: sent at 2"):
        log.refused(refusal(cause=cause))
    lines, _ = await log.page("acme", "leads", page=1, page_size=10)
    assert {(line.count, line.cause) for line in lines} == {(1, "no_match: a"), (2, "timestamp_ahead: sent at 2")}


async def test_an_event_is_recalled_with_what_it_became_but_not_its_data(log: InboundLog) -> None:
    await log.add(LogEntry(event(), [RUN], "d1"))
    for _ in range(2):  # before and after it was written
        found = await log.recall("acme", "leads", "evt 1")
        assert found is not None
        assert (list(found.runs), found.digest) == ([RUN], "d1")
        assert found.event == replace(event(), data={})
        assert await log.find("acme", "leads", "evt 1") is not None
    assert await log.recall("acme", "leads", "evt 2") is None
    assert await log.recall("other", "leads", "evt 1") is None


async def test_concurrent_look_ups_return_each_its_own_entry(log: InboundLog) -> None:
    for number in range(20):
        await log.add(LogEntry(event(f"e{number}"), [], f"d{number}"))
    await log.find("acme", "leads", "e0")
    names = [f"e{number}" for number in range(40)]
    found = await asyncio.gather(*(log.recall("acme", "leads", name) for name in names))
    assert [each.digest if each else None for each in found] == [f"d{number}" for number in range(20)] + [None] * 20


async def test_the_first_of_two_entries_stays_and_triggers_it_had_not_made_are_added(log: InboundLog) -> None:
    await log.add(LogEntry(event(), [RUN], "d1"))
    await log.find("acme", "leads", "evt 1")
    await log.add(LogEntry(event(minutes=5), [RUN, ANOTHER], "d2"))
    line = await log.find("acme", "leads", "evt 1")
    assert line is not None
    assert (line.at, list(line.runs)) == (AT, [RUN, ANOTHER])
    found = await log.recall("acme", "leads", "evt 1")
    assert found is not None
    assert found.digest == "d1"


async def test_repeats_are_counted_on_the_entry(log: InboundLog) -> None:
    await log.add(LogEntry(event(), [RUN], "d1"))
    log.repeated(event(minutes=1))
    await log.find("acme", "leads", "evt 1")
    log.repeated(event(minutes=3))
    log.repeated(event(minutes=2))
    line = await log.find("acme", "leads", "evt 1")
    assert line is not None
    assert (line.status, line.count, line.last_at) == (Status.ACCEPTED, 4, AT + timedelta(minutes=3))


async def test_a_trigger_leads_to_its_event(log: InboundLog) -> None:  # F6
    await log.add(LogEntry(event(), [RUN, ANOTHER], "d1"))
    line = await log.by_trigger("acme", "t2")
    assert line is not None
    assert (line.source, line.event_id, line.type) == ("leads", "evt 1", "lead.created")
    assert await log.by_trigger("other", "t2") is None
    assert await log.by_trigger("acme", "t3") is None


async def test_a_minutes_refusals_for_one_reason_are_one_line(log: InboundLog) -> None:
    for second in (1, 30, 59):
        at = AT + timedelta(seconds=second)
        log.refused(Refusal("acme", "leads", "bad_signature", at, f"r{second}", f"e{second}"))
    log.refused(refusal(reason="malformed_json"))
    log.refused(refusal(1))
    log.refused(replace(refusal(), source="crm"))
    lines, more = await log.page("acme", "leads", page=1, page_size=10)
    assert more is False
    assert [(line.reason, line.count) for line in lines] == [
        ("bad_signature", 1),
        ("bad_signature", 3),
        ("malformed_json", 1),
    ]
    named = lines[1]
    assert (named.status, named.event_id, named.request_id) == (Status.REFUSED, "e59", "r59")
    assert (named.at, named.last_at) == (AT + timedelta(seconds=1), AT + timedelta(seconds=59))


async def test_a_flood_of_refused_posts_keeps_the_newest_lines_alone(log: InboundLog) -> None:
    await log.add(LogEntry(event(), [], "d"))
    for minutes in range(REFUSALS_KEPT + 30):
        log.refused(refusal(minutes))
    lines, _ = await log.page("acme", "leads", page=1, page_size=1000)
    assert len(lines) == REFUSALS_KEPT + 1
    assert lines[0].at == AT + timedelta(minutes=REFUSALS_KEPT + 29)
    assert lines[-1].status is Status.ACCEPTED


@pytest.mark.parametrize("page_size", [1, 3, 7, 50])
async def test_pages_have_each_line_once_the_newest_first(log: InboundLog, page_size: int) -> None:
    for number in range(20):
        await log.add(LogEntry(event(f"e{number}", minutes=number), [], "d"))
        if number % 3 == 0:
            log.refused(Refusal("acme", "leads", "rate_limited", AT + timedelta(minutes=number, seconds=30)))
    seen, page, more = list[datetime](), 0, True
    while more:
        page += 1
        lines, more = await log.page("acme", "leads", page=page, page_size=page_size)
        assert len(lines) == page_size or not more
        seen += [line.at for line in lines]
    assert len(seen) == 27
    assert seen == sorted(seen, reverse=True)
    assert page == -(-27 // page_size)


async def test_what_another_replica_is_just_noting_is_waited_for(mongo_url: str, mongo_prefix: str) -> None:
    server = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    one, other = (MongoInboundLog(server.database, service="test") for _ in range(2))
    await one.prepare()
    waiting = asyncio.create_task(other.await_entry("acme", "leads", "evt 1"))
    await asyncio.sleep(0)
    await one.add(LogEntry(event(), [RUN], "d1"))
    found = await waiting
    assert found is not None
    assert found.digest == "d1"
    await one.flush()
    await server.client.drop_database(server.database.name)
    await server.close()


async def test_a_log_that_cannot_be_read_says_so_to_all_who_wait() -> None:
    nowhere = Mongo("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50", "nowhere")
    log = MongoInboundLog(nowhere.database, service="test")
    found = await asyncio.gather(*(log.recall("acme", "leads", str(n)) for n in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [Transient] * 3
    await nowhere.close()
