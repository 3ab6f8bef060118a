"""Long runs: what no step changes any more is stored apart in segments, and read as if it weren't."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from executor.adapters.mongo_runs import MongoRuns
from executor.adapters.team_documents import MongoRunsOfTeam
from executor.domain import lifecycle, spending
from executor.domain.run import JournalEntry, Need, Run
from executor.ports import Fenced, Runs
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON
from rota_contracts.messages.conversation import Round, Turn
from rota_contracts.messages.execution import ExecStatus, TaskResult, TaskStatus
from tests.conformance.executor_store import ENDED, LATER, MINUTE, a_run, bare, created

LONG = 15_000
"""Bytes of an entry: five of them are a segment."""


@pytest.fixture
async def mongo(mongo_url: str, mongo_prefix: str) -> AsyncIterator[Mongo]:
    made = Mongo(mongo_url, f"{mongo_prefix}_executor")
    yield made
    await made.client.drop_database(made.database.name)
    await made.close()


@pytest.fixture
async def stored(mongo: Mongo) -> MongoRuns:
    runs = MongoRuns(mongo.database, keep=timedelta(days=7))
    await runs.prepare()
    return runs


def with_round(run: Run, number: int, *, size: int = LONG) -> Run:
    """Another round; every seventh one opens a turn, and the turn before it gets its answer then."""
    (result,) = run.execution.results or [TaskResult(task_id="t", step_id="s", status=TaskStatus.RUNNING)]
    *before, last = result.turns or [Turn(number=1)]
    added = Round(text=f"round {number}", at=NOON)
    if number % 7 == 6:
        turns = [*before, last.model_copy(update={"finished_at": NOON}), Turn(number=last.number + 1, rounds=[added])]
    else:
        turns = [*before, last.model_copy(update={"rounds": [*last.rounds, added]})]
    entry = JournalEntry(at=NOON, step="run", kind="Thought", data=f"{number} ".ljust(size, "x"))
    run = run.model_copy(update={"unsaved": [entry]})
    return run.with_execution(results=[result.model_copy(update={"turns": turns})])


async def saved(runs: Runs, run: Run, epoch: int, numbers: range, *, size: int = LONG) -> Run:
    for number in numbers:
        run = await runs.save(with_round(run, number, size=size), epoch)
    return run


async def numbers_of(runs: Runs) -> list[int]:
    return [int(entry.data.split()[0]) for entry in await runs.journal("e1")]


async def is_read(runs: Runs, run: Run) -> bool:
    found = await runs.find(run.id)
    return found is not None and (bare(found), found.layout) == (bare(run), run.layout)


async def segments(mongo: Mongo) -> list[dict[str, Any]]:
    return [each async for each in mongo.database["execution_segments"].find()]


async def document(mongo: Mongo) -> dict[str, Any]:
    found = await mongo.database["executions"].find_one({"_id": "e1"})
    assert found is not None
    return found


async def test_a_long_run_is_read_whole(runs: Runs) -> None:
    epoch = await created(runs, a_run(), lease=ENDED)
    run = await saved(runs, a_run(), epoch, range(40))
    claimed = await runs.claim("e1", owner="second", lease=ENDED)
    assert claimed is not None
    assert bare(claimed[0]) == bare(await runs.find("e1")) == bare(run)
    assert await numbers_of(runs) == [*range(40)]
    run = await saved(runs, claimed[0], claimed[1], range(40, 60))
    assert await is_read(runs, run)
    assert [each.text for turn in run.execution.results[0].turns for each in turn.rounds][-1] == "round 59"
    assert await numbers_of(runs) == [*range(60)]


async def test_what_has_moved_and_changes_all_the_same_is_written_again(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    run = await saved(runs, a_run(), epoch, range(20))
    (result,) = run.execution.results
    first, second, *others = result.turns
    rounds = [second.rounds[0].model_copy(update={"text": "another"}), *second.rounds[1:]]
    turns = [first.model_copy(update={"told": "more"}), second.model_copy(update={"rounds": rounds}), *others]
    run = await runs.save(run.with_execution(results=[result.model_copy(update={"turns": turns})]), epoch)
    assert await is_read(runs, run)
    run = await saved(runs, run, epoch, range(20, 40))
    assert await is_read(runs, run)
    shorter = result.model_copy(update={"turns": [second]})
    run = await runs.save(run.with_execution(results=[shorter]), epoch)
    assert await is_read(runs, run)


@pytest.mark.integration
async def test_the_document_of_a_long_run_stays_small(mongo: Mongo, stored: MongoRuns) -> None:
    run, epoch, sizes = a_run(), await created(stored, a_run()), list[int]()
    for number in range(100):
        run = await stored.save(with_round(run, number), epoch)
        found = await document(mongo)
        sizes.append(sum(len(str(found[field])) for field in ("journal", "run")))
    assert max(sizes) < 6 * LONG
    made = await segments(mongo)
    assert [each["_id"] for each in made] == (await document(mongo))["segments"]
    assert len(made) == 99 // 5
    assert all(len(each["journal"]) == 5 for each in made)


@pytest.mark.integration
async def test_a_short_run_is_one_write_for_each_step(
    mongo: Mongo, stored: MongoRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def needless(*_: Any, **__: Any) -> None:
        raise AssertionError("a short run has no segments")

    for name in ("store", "end"):
        monkeypatch.setattr(stored._segments, name, needless)
    epoch = await created(stored, a_run())
    run = await saved(stored, a_run(), epoch, range(200), size=100)
    await stored.finish(lifecycle.finish(run, ExecStatus.FAILED, now=LATER), epoch, check_in=None)
    assert await segments(mongo) == []
    assert "segments" not in await document(mongo)


@pytest.mark.integration
async def test_a_cut_between_the_segment_and_the_runs_own_write_costs_nothing(
    mongo: Mongo, stored: MongoRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch = await created(stored, a_run(), lease=ENDED)
    run = await saved(stored, a_run(), epoch, range(5))

    async def killed(*_: Any) -> None:
        raise SystemError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(stored, "_written", killed)
        with pytest.raises(SystemError):
            await stored.save(with_round(run, 5), epoch)
    assert len(await segments(mongo)) == 1
    assert await is_read(stored, run)
    assert await numbers_of(stored) == [*range(5)]
    claimed = await stored.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    run = await saved(stored, claimed.run, claimed.epoch, range(5, 20))
    assert await numbers_of(stored) == [*range(20)]
    assert await is_read(stored, run)


@pytest.mark.integration
async def test_a_fenced_worker_moves_nothing(mongo: Mongo, stored: MongoRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be it fenced before it stores its segment, or between that and the run's own write."""
    epoch = await created(stored, a_run(), lease=ENDED)
    late = await saved(stored, a_run(), epoch, range(5))
    claimed = await stored.claim("e1", owner="second", lease=ENDED)
    assert claimed is not None
    with pytest.raises(Fenced):
        await stored.save(with_round(late, 99), epoch)
    assert await segments(mongo) == []
    run, epoch, _ = claimed
    store = stored._segments.store

    async def overtaken(run_id: str, at: int, parts: Any, *, name: str) -> bool:
        done = await store(run_id, at, parts, name=name)
        monkeypatch.undo()
        third = await stored.claim("e1", owner="third", lease=MINUTE)
        assert third is not None
        await saved(stored, third.run, third.epoch, range(5, 20))
        return done

    monkeypatch.setattr(stored._segments, "store", overtaken)
    with pytest.raises(Fenced):
        await stored.save(with_round(run, 98), epoch)
    assert await numbers_of(stored) == [*range(20)]
    found = await stored.find("e1")
    assert found is not None
    assert found.execution.results[0].turns[-1].rounds[-1].text == "round 19"
    assert len(await segments(mongo)) == len((await document(mongo))["segments"]) + 1


@pytest.mark.integration
async def test_a_long_run_that_waits_at_a_ceiling_is_found_whole(stored: MongoRuns) -> None:  # F12
    epoch = await created(stored, a_run())
    run = await saved(stored, a_run(), epoch, range(20))
    run = spending.at_ceiling(run, "room?", Need(tokens=5), NOON)
    await stored.release(run, epoch, check_in=None)
    found = [run async for run in stored.at_ceiling(limit=10)]
    assert [bare(each) for each in found] == [bare(run)]
    assert found[0].layout.apart


@pytest.mark.integration
async def test_segments_end_with_their_run(mongo: Mongo, stored: MongoRuns) -> None:
    """Those as well that a killed worker has left, and those whose worker was killed before it ended them."""
    epoch = await created(stored, a_run())
    run = await saved(stored, a_run(), epoch, range(20))
    left = {"_id": "left", "run_id": "e1", "journal": [], "parts": []}
    await mongo.database["execution_segments"].insert_one(left)
    await stored.prepare()
    assert {each.get("over_at") for each in await segments(mongo)} == {None}, "as long as the run goes on"
    await stored.finish(lifecycle.finish(run, ExecStatus.FAILED, now=LATER), epoch, check_in=None)
    assert {each["over_at"] for each in await segments(mongo)} == {LATER}
    assert await numbers_of(stored) == [*range(20)]
    await mongo.database["execution_segments"].update_many({}, {"$unset": {"over_at": ""}})
    gone = {"_id": "gone", "run_id": "gone", "journal": [], "parts": []}
    await mongo.database["execution_segments"].insert_one(gone)
    await stored.prepare()
    ends = {each["_id"]: each["over_at"] for each in await segments(mongo)}
    assert ends.pop("gone") > LATER
    assert {*ends.values()} == {LATER}
    index = (await mongo.database["execution_segments"].index_information())["kept"]
    assert (index["key"], index["expireAfterSeconds"]) == ([("over_at", 1)], 18 * 86400), "a day after any run"
    await stored.remove(["e1"])
    assert [each["_id"] for each in await segments(mongo)] == ["gone"]


@pytest.mark.integration
async def test_a_run_of_an_earlier_version_gets_segments(mongo: Mongo, stored: MongoRuns) -> None:
    epoch = await created(stored, a_run(), lease=ENDED)
    await saved(stored, a_run(), epoch, range(4))
    await mongo.database["executions"].update_one({"_id": "e1"}, {"$unset": {"journal_bytes": ""}})
    claimed = await stored.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    run = await saved(stored, claimed.run, claimed.epoch, range(4, 12))
    assert len(await segments(mongo)) == 1
    assert await is_read(stored, run)
    assert await numbers_of(stored) == [*range(12)]


async def test_the_segments_of_a_team_go_with_its_runs(mongo: Mongo, stored: MongoRuns) -> None:
    run, epoch = a_run(), await created(stored, a_run())
    await saved(stored, run, epoch, range(12))
    assert await mongo.database["execution_segments"].count_documents({}) > 0
    await MongoRunsOfTeam(mongo.database).remove("another")
    assert await stored.is_there("e1")
    await MongoRunsOfTeam(mongo.database).remove(run.execution.team_id)
    assert not await stored.is_there("e1")
    assert await mongo.database["execution_segments"].count_documents({}) == 0
