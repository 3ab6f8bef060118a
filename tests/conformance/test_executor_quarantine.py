"""Results in quarantine: listed by run, found by their id, and kept as long as a delivery may need them."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.mongo_run_pages import quarantined
from executor.adapters.mongo_runs import MongoRuns
from executor.domain import lifecycle, quarantine
from executor.domain.quarantine import Decided
from executor.domain.run import Run
from executor.ports import Fenced, Runs
from rota_common.clock import now
from rota_common.page_cursor import parse_cursor
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.quarantine import (
    ListQuarantine,
    Quarantined,
    QuarantineDecision,
    QuarantinePage,
    QuarantineStatus,
)
from tests.conformance.executor_store import ENDED, MINUTE, a_run, bare, created, overdue

RELEASE, DROP = QuarantineDecision.RELEASE, QuarantineDecision.DROP


def held(run: Run, *, results: int = 1, at: datetime = NOON) -> Run:
    """The run at its end, with results in quarantine: q-<run>-0, q-<run>-1 …"""
    whose = {"member_id": run.execution.member_id, "execution_id": run.id}
    made = [
        Quarantined(quarantine_id=f"q-{run.id}-{n}", task_id=f"t{n}", score=0.4, issues=["no"], held_at=at, **whose)
        for n in range(results)
    ]
    return lifecycle.finish(run, ExecStatus.FAILED, now=at).with_execution(quarantine=made)


def decided(run: Run, decision: QuarantineDecision, *, number: int = 0, at: datetime = NOON) -> Run:
    given = Decided(quarantine_id=f"q-{run.id}-{number}", decision=decision, by="ann")
    return quarantine.decide(run, given, now=at)


async def stored(runs: Runs, run: Run, after: Run) -> None:
    await runs.release(after, await created(runs, run), check_in=None)


async def listed(runs: Runs, **fields: object) -> QuarantinePage:
    wanted = ListQuarantine.model_validate({"team_id": TEAM, **fields})
    return await runs.quarantine(wanted, after=parse_cursor(wanted.after))


def ids(page: QuarantinePage) -> list[str]:
    return [each.quarantine_id for each in page.results]


async def test_the_quarantine_lists_the_newest_runs_first_page_by_page(runs: Runs) -> None:  # F13
    for number in range(3):
        run = a_run(f"e{number}", at=NOON + timedelta(minutes=number))
        await stored(runs, run, held(run, results=2))
    await created(runs, a_run("under way"))
    page = await listed(runs, limit=2)
    assert ids(page) == ["q-e2-0", "q-e2-1", "q-e1-0", "q-e1-1"]
    last = await listed(runs, limit=2, after=page.next)
    assert (ids(last), last.next) == (["q-e0-0", "q-e0-1"], "")


async def test_the_quarantine_is_listed_by_robot_run_status_and_team(runs: Runs) -> None:  # F13 TG-23
    for run_id, owner in (("ours", {}), ("bobs", {"member": "bob"}), ("theirs", {"team": "initech"})):
        run = a_run(run_id, **owner)
        after = held(run, results=2)
        await stored(runs, run, decided(after, DROP) if run_id == "ours" else after)
    assert sorted(ids(await listed(runs))) == ["q-bobs-0", "q-bobs-1", "q-ours-0", "q-ours-1"]
    assert ids(await listed(runs, member_id=MEMBER)) == ["q-ours-0", "q-ours-1"]
    assert ids(await listed(runs, execution_id="bobs")) == ["q-bobs-0", "q-bobs-1"]
    assert ids(await listed(runs, execution_id="theirs")) == []
    assert ids(await listed(runs, status=QuarantineStatus.DROPPED)) == ["q-ours-0"]
    assert ids(await listed(runs, status=QuarantineStatus.HELD, member_id=MEMBER)) == ["q-ours-1"]


async def test_of_two_that_decide_at_once_one_is_stored(runs: Runs) -> None:  # F13
    await stored(runs, a_run(), held(a_run()))
    found = await runs.by_quarantined("q-e1-0")
    assert found is not None
    run, epoch = found
    decisions = (decided(run, RELEASE), decided(run, DROP))
    made = await asyncio.gather(
        *(runs.release(each, epoch, check_in=MINUTE) for each in decisions), return_exceptions=True
    )
    (kept,) = [each for each in made if isinstance(each, Run)]
    assert [type(each) for each in made if not isinstance(each, Run)] == [Fenced]
    again = await runs.by_quarantined("q-e1-0")
    assert again is not None
    assert bare(again[0]) == bare(kept)
    assert await runs.by_quarantined("unknown") is None


async def test_a_decision_is_checked_until_it_is_announced(runs: Runs) -> None:  # F13
    await stored(runs, a_run(), held(a_run(), results=2))
    found = await runs.by_quarantined("q-e1-0")
    assert found is not None
    one = await runs.release(decided(found[0], DROP), found[1], check_in=MINUTE)
    assert await overdue(runs) == []
    await runs.release(decided(one, RELEASE, number=1), found[1] + 1, check_in=ENDED)
    assert await overdue(runs) == ["e1"]
    await runs.mark_announced("e1", decided=1)
    assert await overdue(runs) == ["e1"], "one more was decided about since"
    await runs.mark_announced("e1", decided=2)
    assert await overdue(runs) == []


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


async def test_a_released_result_is_kept_as_long_as_its_delivery_may_be_retried(two_days: Runs) -> None:  # F13
    runs, today = two_days, now()
    for name, decision, days in (("held", None, 0), ("dropped", DROP, 1), ("sent", RELEASE, 3), ("done", RELEASE, 5)):
        run = a_run(name)
        after = held(run, at=today - timedelta(days=9))
        at = today - timedelta(days=days)
        await stored(runs, run, after if decision is None else decided(after, decision, at=at))
    assert sorted(owner.execution_id for owner in await runs.to_remove(limit=10)) == ["done", "dropped", "held"]


async def test_a_page_of_the_quarantine_reads_a_page(mongo_url: str, mongo_prefix: str) -> None:  # F13
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    runs = MongoRuns(mongo.database)
    await runs.prepare()
    for number in range(40):
        run = a_run(f"e{number:02}", at=NOON + timedelta(minutes=number))
        over = lifecycle.finish(run, ExecStatus.COMPLETED, now=NOON)
        await stored(runs, run, held(run) if number < 4 else over)
    command = {
        "find": "executions",
        "filter": quarantined(ListQuarantine(team_id=TEAM)),
        "sort": {"created_at": -1, "_id": -1},
        "limit": 3,
    }
    plan = await mongo.database.command("explain", command, verbosity="executionStats")
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
    assert plan["executionStats"]["totalDocsExamined"] <= 4
