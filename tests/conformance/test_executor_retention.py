"""Runs in MongoDB have an end, and their lists read a page and no more."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.mongo_run_pages import _matching
from executor.adapters.mongo_runs import MongoRuns
from executor.domain import lifecycle
from executor.ports import Runs
from rota_common.clock import now
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Mongo, behind
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.delivery import DeliveryContent
from rota_contracts.messages.execution import ExecStatus, ListExecutions
from rota_contracts.messages.text import BlobRef, Text
from tests.conformance.executor_store import LATER, a_run, created


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    made = Mongo(mongo_url, f"{mongo_prefix}_executor")
    yield made
    await made.client.drop_database(made.database.name)
    await made.close()


async def over_at(mongo: Mongo, run_id: str) -> Any:
    document = await mongo.database["executions"].find_one({"_id": run_id})
    assert document is not None
    return document.get("over_at")


async def test_a_run_is_kept_for_a_time_after_its_end(mongo: Mongo) -> None:
    runs = MongoRuns(mongo.database, keep=timedelta(days=7))
    await runs.prepare()
    run, epoch = a_run(), await created(runs, a_run())
    run = await runs.save(run, epoch)
    assert await over_at(mongo, "e1") is None, "it never ends by its age alone"
    await runs.finish(lifecycle.finish(run, ExecStatus.FAILED, now=LATER), epoch, check_in=None)
    assert await over_at(mongo, "e1") == LATER
    index = (await mongo.database["executions"].index_information())["kept"]
    assert (index["key"], index["expireAfterSeconds"]) == ([("over_at", 1)], 17 * 86400)
    await MongoRuns(mongo.database, keep=timedelta(days=30)).prepare()
    assert (await mongo.database["executions"].index_information())["kept"]["expireAfterSeconds"] == 40 * 86400


@pytest.fixture(params=["memory", "mongo"])
async def two_days(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Runs]:
    """Runs that are kept for two days."""
    if request.param == "memory":
        yield InMemoryRuns(keep=timedelta(days=2))
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    store = MongoRuns(mongo.database, keep=timedelta(days=2))
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


async def test_runs_are_to_be_removed_once_their_time_is_over(two_days: Runs) -> None:
    runs = two_days
    long = Text(ref=BlobRef(bucket="outputs", name="acme.e1.x", size=300_000, sha256="x"))
    short = DeliveryContent(summary="s", body=Text(inline="b"))
    ends = {  # days ago, and what is delivered
        "long since": (3, short),
        "longer since": (5, None),
        "just now": (1, short),
        "still sent": (3, short.model_copy(update={"body": long})),  # it may be tried again
        "sent": (5, short.model_copy(update={"body": long})),
    }
    for name, (days, content) in ends.items():
        run = a_run(name).with_execution(content=content)
        over = lifecycle.finish(run, ExecStatus.COMPLETED, now=now() - timedelta(days=days))
        await runs.release(over, await created(runs, run), check_in=None)
    await created(runs, a_run("parked for long"))
    await runs.give_up("given up", NOON)
    due = [owner.execution_id for owner in await runs.to_remove(limit=10)]
    assert (sorted(due[:2]), due[2:]) == (["longer since", "sent"], ["long since"])
    assert len(await runs.to_remove(limit=2)) == 2
    await runs.remove([*due, "parked for long", "given up"])
    assert await runs.to_remove(limit=10) == []
    left = [name for name in (*ends, "parked for long", "given up") if await runs.is_there(name)]
    assert left == ["just now", "still sent", "parked for long", "given up"]


async def test_runs_of_an_earlier_version_end_too(mongo: Mongo) -> None:
    runs = MongoRuns(mongo.database)
    over = lifecycle.finish(a_run("over"), ExecStatus.COMPLETED, now=LATER)
    await runs.prepare()
    await runs.release(over, await created(runs, a_run("over")), check_in=None)
    await created(runs, a_run("running"))
    executions = mongo.database["executions"]
    await executions.update_many({}, {"$unset": {"over_at": ""}})
    await executions.drop_index("kept")
    await executions.create_index([("team_id", 1), ("created_at", -1)])
    await runs.prepare()
    assert [await over_at(mongo, run_id) for run_id in ("over", "running")] == [LATER, None]
    assert "team_id_1_created_at_-1" not in await executions.index_information()


@pytest.mark.parametrize("fields", [{}, {"member_id": MEMBER}, {"status": "completed"}], ids=str)
async def test_a_page_deep_inside_a_long_list_reads_a_page(mongo: Mongo, fields: dict[str, Any]) -> None:
    runs = MongoRuns(mongo.database)
    await runs.prepare()
    for number in range(60):
        run = a_run(f"e{number:02}", at=NOON + timedelta(minutes=number))
        over = lifecycle.finish(run, ExecStatus.COMPLETED, now=LATER)
        await runs.release(over, await created(runs, run), check_in=None)
    wanted = ListExecutions(team_id=TEAM, page_size=5, **fields)
    cursor = PageCursor(NOON + timedelta(minutes=20), "e20")
    page = await runs.list(wanted, after=cursor)
    assert [line.execution_id for line in page.executions] == ["e19", "e18", "e17", "e16", "e15"]
    query = {"$and": [_matching(wanted), behind("created_at", cursor.at, cursor.item_id)]}
    command = {"find": "executions", "filter": query, "sort": {"created_at": -1, "_id": -1}, "limit": 5}
    plan = await mongo.database.command("explain", command, verbosity="executionStats")
    assert plan["executionStats"]["totalDocsExamined"] <= 6
