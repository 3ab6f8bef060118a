"""The audit trail, in memory and in MongoDB."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from rota_common.stores.mongo import Mongo
from trigger_gateway.adapters.in_memory_audit import InMemoryAuditLog
from trigger_gateway.adapters.mongo_audit import MongoAuditLog
from trigger_gateway.audit.entry import AuditEntry, AuditMark
from trigger_gateway.audit.ports import AuditLog

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
LATER = datetime(2099, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "mongo"])
async def log(request: pytest.FixtureRequest) -> AsyncIterator[AuditLog]:
    if request.param == "memory":
        yield InMemoryAuditLog()
        return
    prefix = request.getfixturevalue("mongo_prefix")
    mongo = Mongo(request.getfixturevalue("mongo_url"), f"{prefix}_gateway")
    made = MongoAuditLog(mongo.database)
    await made.prepare()
    yield made
    await mongo.close()


def entry(name: str, second: int = 0, team: str = "acme") -> AuditEntry:
    at = AT + timedelta(seconds=second)
    return AuditEntry(audit_id=name, team=team, at=at, by="k1", by_name="ada", role="owner", action="change_robot")


async def test_an_entry_is_finished_published_and_read_as_it_is(log: AuditLog) -> None:
    await log.begin(entry("a"), until=LATER)
    assert await log.unpublished(begun_before=AT, limit=10) == []
    done = replace(entry("a"), status=200, on={"member_id": "r1", "a.$b": "1"}, request_id="r", address="192.0.2.1")
    await log.finish(done)
    assert await log.unpublished(begun_before=AT, limit=10) == [done]
    await log.mark_published("a")
    assert await log.unpublished(begun_before=AT, limit=10) == []
    assert await log.page("acme", after=None, limit=10) == [done]
    assert await log.page("other", after=None, limit=10) == []


async def test_what_never_ended_is_published_later_and_what_changed_nothing_never(log: AuditLog) -> None:
    for name in ("a", "b"):
        await log.begin(entry(name), until=LATER)
    await log.drop("a")
    assert await log.unpublished(begun_before=AT + timedelta(seconds=1), limit=10) == [entry("b")]


async def test_pages_follow_each_other_also_within_one_instant(log: AuditLog) -> None:
    names = ["a", "b", "c", "d", "e"]
    for name in names:
        await log.begin(entry(name, second=name == "e"), until=LATER)
    await log.begin(entry("x", team="other"), until=LATER)
    found: list[AuditEntry] = []
    mark = None
    while page := await log.page("acme", after=mark, limit=2):
        found += page
        mark = AuditMark.parse(str(AuditMark(page[-1].at, page[-1].audit_id)))
    assert [each.audit_id for each in found] == ["e", "d", "c", "b", "a"]
    assert len(await log.page(None, after=None, limit=10)) == 6


async def test_the_newest_of_each_team_are_kept(log: AuditLog) -> None:
    for second in range(5):
        await log.begin(entry(f"a{second}", second), until=LATER)
    await log.begin(entry("x", team="other"), until=LATER)
    await log.prune(kept=3)
    assert [each.audit_id for each in await log.page("acme", after=None, limit=10)] == ["a4", "a3", "a2"]
    assert len(await log.page("other", after=None, limit=10)) == 1
