"""The executor's stores in memory keep the same promises as those in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from executor import control, domain, ledger, phases
from executor.adapters.fakes import MemoryRuns
from executor.adapters.mongo_runs import MongoRuns
from executor.ports import Fenced, Runs
from executor.run import Run
from rota_common.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.execution import ExecStatus, ListExecutions

SOON = NOON + timedelta(seconds=10)
LATER = NOON + timedelta(seconds=60)


@pytest.fixture(params=["memory", "mongo"])
async def runs(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Runs]:
    if request.param == "memory":
        yield MemoryRuns()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    store = MongoRuns(mongo.database)
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


def a_run(run_id: str = "e1", *, at: datetime = NOON, team: str = TEAM, member: str = MEMBER) -> Run:
    owner: dict[str, Any] = {"team_id": team, "member_id": member}
    return phases.begin(run_id, a_trigger(**owner), a_robot(**owner), now=at, traceparent="00-trace")


async def created(runs: Runs, run: Run, *, until: datetime = SOON) -> int:
    epoch = await runs.create(run, owner="first", until=until)
    assert epoch is not None
    return epoch


async def overdue(runs: Runs, now: datetime, *, limit: int = 100) -> list[str]:
    return [run_id async for run_id in runs.overdue(now, limit=limit)]


async def test_a_run_is_created_once(runs: Runs) -> None:  # EX-04
    run = a_run()
    assert await runs.create(run, owner="first", until=SOON) == 1
    assert await runs.create(run.seen(error="another"), owner="second", until=SOON) is None
    assert await runs.find("e1") == run


async def test_of_many_that_create_a_run_one_gets_it(runs: Runs) -> None:
    epochs = await asyncio.gather(*(runs.create(a_run(), owner=f"w{n}", until=SOON) for n in range(10)))
    assert sorted(str(epoch) for epoch in epochs) == ["1", *["None"] * 9]


async def test_what_is_read_is_what_was_written_to_the_last_field(runs: Runs) -> None:  # EX-05
    run = a_run().model_copy(
        update={"feedback": "why", "attempts": 2, "failures": 1, "retry_at": LATER, "recalled": True}
    )
    epoch = await created(runs, run.seen(notes=["mended"], error="x"))
    saved = await runs.save(run, epoch)
    assert saved == run
    assert await runs.find("e1") == run


async def test_a_run_that_is_not_there_is_not_found_and_not_claimed(runs: Runs) -> None:
    assert await runs.find("nobody") is None
    assert await runs.claim("nobody", owner="second", until=SOON, now=NOON) is None


async def test_a_claim_that_lives_is_not_taken(runs: Runs) -> None:
    await created(runs, a_run())
    assert await runs.claim("e1", owner="second", until=LATER, now=NOON) is None
    assert await runs.claim("e1", owner="first", until=LATER, now=NOON) is None  # not even by itself: it is in hand


async def test_a_claim_that_has_ended_is_taken_with_the_next_epoch(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    claimed = await runs.claim("e1", owner="second", until=LATER, now=SOON)
    assert claimed is not None
    assert claimed[1] == epoch + 1


async def test_a_run_that_was_given_back_is_taken_at_once(runs: Runs) -> None:
    run = a_run()
    await runs.release(run.seen(error="so far"), await created(runs, run), look_at=LATER)
    claimed = await runs.claim("e1", owner="second", until=SOON, now=NOON)
    assert claimed == (run.seen(error="so far"), 3)


async def test_of_many_that_claim_a_run_one_gets_it(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), look_at=LATER)
    claims = await asyncio.gather(*(runs.claim("e1", owner=f"w{n}", until=SOON, now=NOON) for n in range(10)))
    assert [claim[1] for claim in claims if claim is not None] == [3]


async def test_a_run_that_is_over_is_never_claimed_and_never_overdue(runs: Runs) -> None:
    run = domain.finish(a_run(), ExecStatus.COMPLETED, now=NOON)
    await runs.release(run, await created(runs, a_run()), look_at=None)
    assert await runs.claim("e1", owner="second", until=LATER, now=LATER) is None
    assert await overdue(runs, LATER + timedelta(days=1)) == []
    assert await runs.find("e1") == run


async def test_whoever_lost_a_run_writes_nothing_any_more(runs: Runs) -> None:
    run = a_run()
    old = await created(runs, run)
    claimed = await runs.claim("e1", owner="second", until=LATER, now=SOON)
    assert claimed is not None
    zombie = run.seen(error="written by a zombie")
    with pytest.raises(Fenced):
        await runs.save(zombie, old)
    with pytest.raises(Fenced):
        await runs.release(zombie, old, look_at=None)
    with pytest.raises(Fenced):
        await runs.renew("e1", old, until=LATER)
    assert await runs.find("e1") == run
    assert await runs.save(run.seen(error="by its owner"), claimed[1]) == run.seen(error="by its owner")


async def test_whoever_gave_a_run_back_writes_nothing_any_more(runs: Runs) -> None:
    run = a_run()
    epoch = await created(runs, run)
    await runs.release(run, epoch, look_at=LATER)
    with pytest.raises(Fenced):
        await runs.save(run.seen(error="too late"), epoch)
    with pytest.raises(Fenced):
        await runs.renew("e1", epoch, until=LATER)
    assert await runs.find("e1") == run


async def test_a_run_that_nobody_holds_can_be_written_once_by_whoever_saw_it_so(runs: Runs) -> None:
    run = a_run()
    assert await runs.peek("nobody") is None
    epoch = await created(runs, run)
    assert await runs.peek("e1") is None  # it is in hand
    await runs.release(run, epoch, look_at=LATER)
    first, second = await runs.peek("e1"), await runs.peek("e1")
    assert first == second is not None
    assert await runs.release(run.seen(error="first"), first[1], look_at=LATER) == run.seen(error="first")
    with pytest.raises(Fenced):
        await runs.release(run.seen(error="second"), second[1], look_at=LATER)
    assert await runs.find("e1") == run.seen(error="first")


async def test_a_run_that_was_claimed_since_it_was_seen_is_not_written(runs: Runs) -> None:
    run = a_run()
    await runs.release(run, await created(runs, run), look_at=LATER)
    seen = await runs.peek("e1")
    assert seen is not None
    assert await runs.claim("e1", owner="second", until=SOON, now=NOON) is not None
    with pytest.raises(Fenced):
        await runs.release(run.seen(error="too late"), seen[1], look_at=LATER)


async def test_a_run_that_is_over_is_not_there_to_go_on_with(runs: Runs) -> None:
    await runs.release(
        domain.finish(a_run(), ExecStatus.COMPLETED, now=NOON), await created(runs, a_run()), look_at=None
    )
    assert await runs.peek("e1") is None


async def test_a_run_that_is_not_there_can_not_be_written(runs: Runs) -> None:
    with pytest.raises(Fenced):
        await runs.save(a_run("nobody"), 1)
    assert await runs.find("nobody") is None


async def test_a_renewed_claim_lives_longer(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    await runs.renew("e1", epoch, until=LATER)
    assert await runs.claim("e1", owner="second", until=LATER, now=SOON) is None
    assert await overdue(runs, SOON) == []


async def test_what_is_overdue_comes_in_the_order_of_its_waiting(runs: Runs) -> None:
    for run_id, seconds in (("late", 3), ("later", 5), ("latest", 9), ("held", 30)):
        await created(runs, a_run(run_id), until=NOON + timedelta(seconds=seconds))
    await runs.release(a_run("waits"), await created(runs, a_run("waits")), look_at=NOON + timedelta(seconds=4))
    await runs.release(a_run("asleep"), await created(runs, a_run("asleep")), look_at=LATER)
    assert await overdue(runs, SOON) == ["late", "waits", "later", "latest"]
    assert await overdue(runs, SOON, limit=2) == ["late", "waits"]
    assert await overdue(runs, NOON) == []


async def test_every_run_of_a_robot_is_told_to_stop_and_no_other(runs: Runs) -> None:  # TG-20
    owners = {"e1": MEMBER, "e2": MEMBER, "over": MEMBER, "other": "bob"}
    for run_id, member in owners.items():
        await created(runs, a_run(run_id, member=member))
    await created(runs, a_run("elsewhere", team="initech"))
    await runs.release(domain.finish(a_run("over"), ExecStatus.FAILED, now=NOON), 1, look_at=None)
    assert sorted(await runs.cancel_all(TEAM, MEMBER, "the robot was deleted")) == ["e1", "e2"]
    assert sorted(await runs.cancel_all(TEAM, MEMBER, "the robot was deleted")) == ["e1", "e2"]
    found = {run_id: await runs.find(run_id) for run_id in [*owners, "elsewhere"]}
    cancelled = {run_id: run.cancelled for run_id, run in found.items() if run is not None}
    gone = "the robot was deleted"
    assert cancelled == {"e1": gone, "e2": gone, "over": None, "other": None, "elsewhere": None}


async def test_what_a_word_stopped_is_named_again_when_the_word_comes_again(runs: Runs) -> None:  # TG-20
    epoch = await created(runs, a_run())
    await runs.cancel_all(TEAM, MEMBER, "the robot was deleted")
    found = await runs.find("e1")
    assert found is not None
    await runs.release(domain.finish(found, ExecStatus.CANCELLED, now=NOON), epoch, look_at=None)
    assert await runs.cancel_all(TEAM, MEMBER, "the robot was deleted") == ["e1"]


async def test_an_end_is_looked_at_until_it_was_told(runs: Runs) -> None:
    over = domain.finish(a_run(), ExecStatus.CANCELLED, now=NOON)
    await runs.release(over, await created(runs, a_run()), look_at=SOON)
    assert await overdue(runs, SOON) == ["e1"]
    await runs.told("e1")
    assert await overdue(runs, LATER) == []
    await runs.told("nobody")


async def test_a_run_that_is_not_over_is_looked_at_whatever_was_told(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), look_at=SOON)
    await runs.told("e1")
    assert await overdue(runs, SOON) == ["e1"]


async def test_a_word_to_stop_survives_every_write_and_is_heard_with_the_next(runs: Runs) -> None:
    run = a_run()
    epoch = await created(runs, run)
    await runs.cancel_all(TEAM, MEMBER, "first word")
    await runs.cancel_all(TEAM, MEMBER, "second word")
    assert (await runs.save(run, epoch)).cancelled == "first word"
    assert (await runs.release(run, epoch, look_at=LATER)).cancelled == "first word"
    claimed = await runs.claim("e1", owner="second", until=LATER, now=NOON)
    assert claimed is not None
    assert claimed[0].cancelled == "first word"


async def test_a_list_shows_the_newest_first_page_by_page(runs: Runs) -> None:  # TG-21
    for number in range(5):
        await created(runs, a_run(f"e{number}", at=NOON + timedelta(minutes=number)))
    pages = [await runs.list(ListExecutions(team_id=TEAM, page=page, page_size=2)) for page in (1, 2, 3, 4)]
    assert [[line.execution_id for line in page.executions] for page in pages] == [
        ["e4", "e3"],
        ["e2", "e1"],
        ["e0"],
        [],
    ]
    assert {(page.total, page.page_size) for page in pages} == {(5, 2)}


async def test_a_list_shows_a_team_its_own_runs_only(runs: Runs) -> None:  # TG-23
    await created(runs, a_run("ours"))
    await created(runs, a_run("bobs", member="bob"))
    await created(runs, a_run("theirs", team="initech"))
    ours = await runs.list(ListExecutions(team_id=TEAM))
    anns = await runs.list(ListExecutions(team_id=TEAM, member_id=MEMBER))
    nobodys = await runs.list(ListExecutions(team_id="umbrella"))
    assert sorted(line.execution_id for line in ours.executions) == ["bobs", "ours"]
    assert [line.execution_id for line in anns.executions] == ["ours"]
    assert (nobodys.executions, nobodys.total) == ([], 0)


async def test_a_list_can_be_of_one_status_and_says_how_each_went(runs: Runs) -> None:  # TG-21
    await created(runs, a_run("runs"))
    failed = domain.finish(a_run("fails").seen(error="no luck"), ExecStatus.FAILED, now=SOON)
    await runs.release(failed, await created(runs, a_run("fails")), look_at=None)
    (line,) = (await runs.list(ListExecutions(team_id=TEAM, status=ExecStatus.FAILED))).executions
    assert (line.execution_id, line.status, line.error) == ("fails", ExecStatus.FAILED, "no luck")
    assert (line.trigger_type, line.created_at, line.finished_at) == ("event", NOON, SOON)


async def test_a_run_that_nobody_holds_can_be_written_under_the_epoch_it_was_seen_with(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    assert await runs.peek("e1") is None  # held
    await runs.release(a_run(), epoch, look_at=LATER)
    seen = await runs.peek("e1")
    assert seen is not None
    await runs.release(seen[0].seen(error="passed on"), seen[1], look_at=LATER)
    with pytest.raises(Fenced):
        await runs.release(seen[0].seen(error="too late"), seen[1], look_at=LATER)
    found = await runs.find("e1")
    assert found is not None
    assert found.execution.error == "passed on"


async def test_a_claim_fences_whoever_has_only_looked(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), look_at=LATER)
    seen = await runs.peek("e1")
    assert seen is not None
    assert await runs.claim("e1", owner="second", until=LATER, now=NOON) is not None
    with pytest.raises(Fenced):
        await runs.release(seen[0], seen[1], look_at=LATER)
