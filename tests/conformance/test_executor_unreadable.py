"""Runs that another version wrote: they stop no walk, and a version that can read them takes them up."""

from datetime import timedelta
from typing import Any

import pytest

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.adapters.mongo_runs import MongoRuns
from executor.ports import Runs, Scope
from rota_common.errors import Unreadable
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.execution import ListExecutions
from tests.conformance.executor_store import ENDED, MINUTE, a_run, a_signal, created, overdue


async def made_newer(runs: Runs, run_id: str) -> None:
    """Write into the run what only a newer version knows."""
    if isinstance(runs, InMemoryRuns):
        runs.unreadable.add(run_id)
        return
    assert isinstance(runs, MongoRuns)
    newer = {"run.execution.status": "hibernating", "run.execution.phase": "dreaming", "status": "hibernating"}
    await runs._runs.update_one({"_id": run_id}, {"$set": newer})


async def test_an_unreadable_run_stops_no_sweep(runs: Runs) -> None:
    for run_id in ("newer", "ours"):
        run = a_run(run_id).with_execution(deadline_at=NOON)
        await runs.release(run, await created(runs, run), check_in=ENDED)
    await made_newer(runs, "newer")
    for _ in range(2):
        assert [run.id async for run in runs.past_deadline(limit=10)] == ["ours"]
    assert await overdue(runs) == ["ours"]
    assert [run.id for run in await runs.send_signal(Scope(TEAM), a_signal())] == ["ours"]


async def test_an_unreadable_run_is_left_out_of_lists_and_is_never_claimed(runs: Runs) -> None:
    for run_id in ("newer", "ours"):
        await runs.release(a_run(run_id), await created(runs, a_run(run_id)), check_in=ENDED)
    await made_newer(runs, "newer")
    page = await runs.list(ListExecutions(team_id=TEAM), after=None)
    assert [each.execution_id for each in page.executions] == ["ours"]
    assert [slot.execution_id for slot in await runs.slots(["newer", "ours", "none"])] == ["ours", "none"]
    recent = await runs.recent(a_run("now"), earliest=NOON - timedelta(days=1), limit=10)
    assert [each.execution_id for each in recent.under_way] == ["ours"]
    with pytest.raises(Unreadable):
        await runs.find("newer")
    assert await runs.claim("newer", owner="second", lease=MINUTE) is None


async def test_runs_that_rest_are_left_out_of_the_sweep(runs: Runs) -> None:
    for run_id in ("a", "b"):
        run = a_run(run_id, member=MEMBER).with_execution(deadline_at=NOON)
        await runs.release(run, await created(runs, run), check_in=ENDED)
    assert [run_id async for run_id in runs.overdue(limit=10, apart_from=["a"])] == ["b"]
    assert [run.id async for run in runs.past_deadline(limit=10, apart_from=["a"])] == ["b"]


@pytest.mark.integration
async def test_a_version_that_can_read_a_run_takes_it_up(mongo_url: str, mongo_prefix: str) -> None:
    """Two builds on one store: the older one sets aside what the newer one wrote, and gives a claim back at once."""
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    old, new = MongoRuns(mongo.database, reader="old"), MongoRuns(mongo.database, reader="new")
    await old.prepare()
    await new.prepare()
    await new.release(a_run("e1"), await created(new, a_run("e1")), check_in=ENDED)
    execution: dict[str, Any] = {"run.execution.status": "hibernating"}
    await mongo.database["executions"].update_one({"_id": "e1"}, {"$set": execution})
    with pytest.raises(Unreadable):
        await old.claim("e1", owner="old", lease=MINUTE)
    (stored,) = [each async for each in mongo.database["executions"].find()]
    assert (stored["owner"], stored["unreadable_by"]) == (None, ["old"])
    assert "hibernating" in stored["unreadable_reason"]
    assert await overdue(old) == []
    assert await overdue(new) == ["e1"]
    running: dict[str, Any] = {"run.execution.status": "running"}  # which the newer build can read
    await mongo.database["executions"].update_one({"_id": "e1"}, {"$set": running})
    assert await new.claim("e1", owner="new", lease=MINUTE) is not None
    await old.prepare()  # it starts again, and looks once more
    (stored,) = [each async for each in mongo.database["executions"].find()]
    assert "unreadable_at" not in stored
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
