"""The executor's stores in memory keep the same promises as those in MongoDB: claims, fences, lists."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from executor.domain import lifecycle
from executor.ports import Fenced, Runs
from rota_common.page_cursor import parse_cursor
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.definition import CountRuns
from rota_contracts.messages.execution import ExecStatus, ExecutionPage, ListExecutions
from rota_contracts.messages.trigger import ExecutorMode, TriggerInput
from rota_contracts.messages.usage import ModelUsage, UsageShare
from rota_contracts.robots.knowledge import SharedKB
from tests.conformance.executor_store import ENDED, LATER, MINUTE, SOON, a_run, bare, created, overdue


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


async def test_a_run_is_created_once(runs: Runs) -> None:  # EX-04
    run = a_run()
    assert await runs.create(run, owner="first", lease=MINUTE) == 1
    assert await runs.create(run.with_execution(error="another"), owner="second", lease=MINUTE) is None
    assert bare(await runs.find("e1")) == run


async def test_of_many_that_create_a_run_one_gets_it(runs: Runs) -> None:
    epochs = await asyncio.gather(*(runs.create(a_run(), owner=f"w{n}", lease=MINUTE) for n in range(10)))
    assert sorted(str(epoch) for epoch in epochs) == ["1", *["None"] * 9]


async def test_a_run_that_was_given_up_never_begins(runs: Runs) -> None:
    assert await runs.give_up("e1", NOON)
    assert await runs.give_up("e1", NOON)
    assert await runs.create(a_run(), owner="first", lease=MINUTE) is None
    assert await runs.find("e1") is None
    assert await runs.claim("e1", owner="first", lease=MINUTE) is None
    assert [slot.status for slot in await runs.slots(["e1"])] == [ExecStatus.FAILED]
    assert (await runs.list(ListExecutions(team_id=TEAM), after=None)).total == 0
    assert await runs.create(a_run("e2"), owner="first", lease=MINUTE) == 1
    assert not await runs.give_up("e2", NOON)


@pytest.mark.parametrize("data", [{"wei": 10**30}, {"a\0b": 1}, {"$set": {"a.b": 1}}, {"deep": nested(150)}])
async def test_what_strangers_wrote_is_kept_as_they_wrote_it(runs: Runs, data: dict[str, Any]) -> None:
    run = a_run()
    given = run.execution.trigger.model_copy(update={"input": TriggerInput(source="leads", data=data)})
    config = run.robot.robot_config.model_copy(update={"kb": SharedKB(options=data)})
    robot = run.robot.model_copy(update={"robot_config": config})
    run = run.with_execution(trigger=given).model_copy(update={"robot": robot})
    await created(runs, run)
    assert bare(await runs.find("e1")) == run


async def test_what_is_read_is_what_was_written_to_the_last_field(runs: Runs) -> None:  # EX-05
    run = a_run().model_copy(
        update={"feedback": "why", "attempts": 2, "failures": 1, "retry_at": LATER, "recalled": True}
    )
    epoch = await created(runs, run.with_execution(notes=["mended"], error="x"))
    saved = await runs.save(run, epoch)
    assert bare(saved) == run
    assert bare(await runs.find("e1")) == run


async def test_a_run_that_is_not_there_is_not_found_and_not_claimed(runs: Runs) -> None:
    assert await runs.find("unknown") is None
    assert await runs.claim("unknown", owner="second", lease=MINUTE) is None


async def test_a_claim_that_lives_is_not_taken(runs: Runs) -> None:
    await created(runs, a_run())
    assert await runs.claim("e1", owner="second", lease=MINUTE) is None
    assert await runs.claim("e1", owner="first", lease=MINUTE) is None  # not even by itself: it is in hand


async def test_a_claim_that_has_ended_is_taken_with_the_next_epoch(runs: Runs) -> None:
    epoch = await created(runs, a_run(), lease=ENDED)
    claimed = await runs.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    assert claimed[1] == epoch + 1


async def test_a_run_that_was_given_back_is_taken_at_once(runs: Runs) -> None:
    run = a_run()
    await runs.release(run.with_execution(error="so far"), await created(runs, run), check_in=MINUTE)
    claimed = await runs.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    assert (bare(claimed[0]), claimed[1]) == (run.with_execution(error="so far"), 3)


async def test_of_many_that_claim_a_run_one_gets_it(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), check_in=MINUTE)
    claims = await asyncio.gather(*(runs.claim("e1", owner=f"w{n}", lease=MINUTE) for n in range(10)))
    assert [claim[1] for claim in claims if claim is not None] == [3]


async def test_a_run_that_is_over_is_never_claimed_and_never_overdue(runs: Runs) -> None:
    run = lifecycle.finish(a_run(), ExecStatus.COMPLETED, now=NOON)
    await runs.release(run, await created(runs, a_run()), check_in=None)
    assert await runs.claim("e1", owner="second", lease=MINUTE) is None
    assert await overdue(runs) == []
    assert bare(await runs.find("e1")) == run


async def test_a_worker_that_lost_its_claim_writes_nothing(runs: Runs) -> None:
    run = a_run()
    old = await created(runs, run, lease=ENDED)
    claimed = await runs.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    zombie = run.with_execution(error="written by a zombie")
    with pytest.raises(Fenced):
        await runs.save(zombie, old)
    with pytest.raises(Fenced):
        await runs.release(zombie, old, check_in=None)
    with pytest.raises(Fenced):
        await runs.renew("e1", old, lease=MINUTE)
    assert bare(await runs.find("e1")) == run
    assert bare(await runs.save(run.with_execution(error="by its owner"), claimed[1])) == run.with_execution(
        error="by its owner"
    )


async def test_a_worker_that_released_a_run_writes_nothing(runs: Runs) -> None:
    run = a_run()
    epoch = await created(runs, run)
    await runs.release(run, epoch, check_in=MINUTE)
    with pytest.raises(Fenced):
        await runs.save(run.with_execution(error="too late"), epoch)
    with pytest.raises(Fenced):
        await runs.renew("e1", epoch, lease=MINUTE)
    assert bare(await runs.find("e1")) == run


async def test_a_free_run_can_be_written_once_under_the_epoch_it_was_read_with(runs: Runs) -> None:
    run = a_run()
    assert await runs.read_free("unknown") is None
    epoch = await created(runs, run)
    assert await runs.read_free("e1") is None  # it is in hand
    await runs.release(run, epoch, check_in=MINUTE)
    first, second = await runs.read_free("e1"), await runs.read_free("e1")
    assert first is not None
    assert second is not None
    assert (bare(first[0]), first[1]) == (bare(second[0]), second[1])
    assert bare(await runs.release(run.with_execution(error="first"), first[1], check_in=MINUTE)) == run.with_execution(
        error="first"
    )
    with pytest.raises(Fenced):
        await runs.release(run.with_execution(error="second"), second[1], check_in=MINUTE)
    assert bare(await runs.find("e1")) == run.with_execution(error="first")


async def test_what_a_release_returns_is_what_is_read_under_the_next_epoch(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    released = await runs.release(a_run().with_execution(error="passed on"), epoch, check_in=MINUTE)
    assert await runs.read_free("e1") == (released, epoch + 1)


async def test_a_run_that_was_claimed_since_it_was_seen_is_not_written(runs: Runs) -> None:
    run = a_run()
    await runs.release(run, await created(runs, run), check_in=MINUTE)
    seen = await runs.read_free("e1")
    assert seen is not None
    assert await runs.claim("e1", owner="second", lease=MINUTE) is not None
    with pytest.raises(Fenced):
        await runs.release(run.with_execution(error="too late"), seen[1], check_in=MINUTE)


async def test_a_run_that_is_over_is_not_there_to_go_on_with(runs: Runs) -> None:
    await runs.release(
        lifecycle.finish(a_run(), ExecStatus.COMPLETED, now=NOON), await created(runs, a_run()), check_in=None
    )
    assert await runs.read_free("e1") is None


async def test_a_run_that_is_not_there_can_not_be_written(runs: Runs) -> None:
    with pytest.raises(Fenced):
        await runs.save(a_run("unknown"), 1)
    assert await runs.find("unknown") is None


async def test_a_renewed_claim_lives_longer(runs: Runs) -> None:
    epoch = await created(runs, a_run(), lease=ENDED)
    await runs.renew("e1", epoch, lease=MINUTE)
    assert await runs.claim("e1", owner="second", lease=MINUTE) is None
    assert await overdue(runs) == []


async def test_what_is_overdue_comes_in_the_order_of_its_waiting(runs: Runs) -> None:
    for run_id, seconds in (("late", -30), ("later", -20), ("latest", -10), ("held", 30)):
        await created(runs, a_run(run_id), lease=timedelta(seconds=seconds))
    epoch = await created(runs, a_run("waits"))
    await runs.release(a_run("waits"), epoch, check_in=timedelta(seconds=-25))
    await runs.release(a_run("asleep"), await created(runs, a_run("asleep")), check_in=MINUTE)
    assert await overdue(runs) == ["late", "waits", "later", "latest"]
    assert await overdue(runs, limit=2) == ["late", "waits"]


async def test_an_end_is_checked_until_it_is_announced(runs: Runs) -> None:
    over = lifecycle.finish(a_run(), ExecStatus.CANCELLED, now=NOON)
    await runs.release(over, await created(runs, a_run()), check_in=ENDED)
    assert await overdue(runs) == ["e1"]
    await runs.mark_announced("e1")
    assert await overdue(runs) == []
    await runs.mark_announced("unknown")


async def test_a_run_that_is_not_over_is_checked_whatever_was_announced(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), check_in=ENDED)
    await runs.mark_announced("e1")
    assert await overdue(runs) == ["e1"]


async def listed(runs: Runs, wanted: ListExecutions) -> ExecutionPage:
    return await runs.list(wanted, after=parse_cursor(wanted.after))


async def test_a_list_shows_the_newest_first_page_by_page(runs: Runs) -> None:  # TG-21
    for number in range(5):
        await created(runs, a_run(f"e{number}", at=NOON + timedelta(minutes=number)))
    pages = [await listed(runs, ListExecutions(team_id=TEAM, page=page, page_size=2)) for page in (1, 2, 3, 4)]
    assert [[line.execution_id for line in page.executions] for page in pages] == [
        ["e4", "e3"],
        ["e2", "e1"],
        ["e0"],
        [],
    ]
    assert {(page.total, page.page_size) for page in pages} == {(5, 2)}


async def test_a_list_goes_on_after_the_page_before_and_counts_no_more(runs: Runs) -> None:  # TG-21
    for number in range(5):
        await created(runs, a_run(f"e{number}", at=NOON + timedelta(minutes=number // 2)))
    seen, wanted = list[str](), ListExecutions(team_id=TEAM, page_size=2)
    while True:
        page = await listed(runs, wanted)
        seen += [line.execution_id for line in page.executions]
        assert page.total == (0 if wanted.after else 5)
        if not page.next:
            break
        await created(runs, a_run(f"new-{len(seen)}", at=NOON + timedelta(hours=1)))  # shifts no later page
        wanted = wanted.model_copy(update={"after": page.next})
    assert seen == ["e4", "e3", "e2", "e1", "e0"]


async def test_a_list_shows_a_team_its_own_runs_only(runs: Runs) -> None:  # TG-23
    await created(runs, a_run("ours"))
    await created(runs, a_run("bobs", member="bob"))
    await created(runs, a_run("theirs", team="initech"))
    ours = await listed(runs, ListExecutions(team_id=TEAM))
    anns = await listed(runs, ListExecutions(team_id=TEAM, member_id=MEMBER))
    nobodys = await listed(runs, ListExecutions(team_id="umbrella"))
    assert sorted(line.execution_id for line in ours.executions) == ["bobs", "ours"]
    assert [line.execution_id for line in anns.executions] == ["ours"]
    assert (nobodys.executions, nobodys.total) == ([], 0)


async def test_a_list_can_be_of_one_status_and_says_how_each_went(runs: Runs) -> None:  # TG-21
    await created(runs, a_run("runs"))
    failed = lifecycle.finish(a_run("fails").with_execution(error="no luck"), ExecStatus.FAILED, now=SOON)
    await runs.release(failed, await created(runs, a_run("fails")), check_in=None)
    (line,) = (await listed(runs, ListExecutions(team_id=TEAM, status=ExecStatus.FAILED))).executions
    assert (line.execution_id, line.status, line.error) == ("fails", ExecStatus.FAILED, "no luck")
    assert (line.trigger_type, line.created_at, line.finished_at) == ("event", NOON, SOON)


async def test_an_unclaimed_run_can_be_written_under_the_epoch_it_was_read_with(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    assert await runs.read_free("e1") is None  # held
    await runs.release(a_run(), epoch, check_in=MINUTE)
    seen = await runs.read_free("e1")
    assert seen is not None
    await runs.release(seen[0].with_execution(error="passed on"), seen[1], check_in=MINUTE)
    with pytest.raises(Fenced):
        await runs.release(seen[0].with_execution(error="too late"), seen[1], check_in=MINUTE)
    found = await runs.find("e1")
    assert found is not None
    assert found.execution.error == "passed on"


async def test_a_claim_fences_a_reader_of_the_free_run(runs: Runs) -> None:
    await runs.release(a_run(), await created(runs, a_run()), check_in=MINUTE)
    seen = await runs.read_free("e1")
    assert seen is not None
    assert await runs.claim("e1", owner="second", lease=MINUTE) is not None
    with pytest.raises(Fenced):
        await runs.release(seen[0], seen[1], check_in=MINUTE)


async def test_runs_are_counted_by_the_set_or_the_revision_that_they_began_with(runs: Runs) -> None:
    """Of one team or robot, in standard mode, since an instant; with their cost by currency."""

    async def ended(number: int, rev: int, status: ExecStatus, **of: Any) -> None:
        run = a_run(f"e{number}", **of).model_copy(update={"definitions_rev": rev})
        if number == 4:
            run = run.with_execution(robot_rev=7)
        if number == 5:
            run = run.with_execution(executor_mode=ExecutorMode.DRYRUN)
        share = UsageShare(day="2026-01-01", agent="a", model="m", currency="USD", calls=1, cost=0.25)
        run = run.with_execution(usage=ModelUsage(shares=[share]))
        await runs.finish(lifecycle.finish(run, status, now=LATER), await created(runs, run), check_in=None)

    done, failed = ExecStatus.COMPLETED, ExecStatus.FAILED
    for number, (rev, status) in enumerate([(0, done), (7, done), (7, failed), (7, done), (8, done), (8, done)]):
        await ended(number, rev, status)
    await ended(6, 7, done, team="globex")
    await ended(7, 7, done, at=NOON - MINUTE)
    found = await runs.count(CountRuns(team_id=TEAM, revs=[8, 7, 0, 9], since=NOON))
    assert [(each.rev, each.runs, each.completed, each.failed, each.cost) for each in found.counts] == [
        (8, 1, 1, 0, {"USD": 0.25}),
        (7, 3, 2, 1, {"USD": 0.75}),
        (0, 1, 1, 0, {"USD": 0.25}),
        (9, 0, 0, 0, {}),
    ]
    member = a_run("e0").execution.member_id
    of_robot = await runs.count(CountRuns(team_id=TEAM, member_id=member, revs=[1, 7], since=NOON))
    assert [(each.rev, each.runs, each.completed, each.failed) for each in of_robot.counts] == [
        (1, 4, 3, 1),
        (7, 1, 1, 0),
    ]
    other = await runs.count(CountRuns(team_id=TEAM, member_id="other", revs=[1], since=NOON))
    assert [each.runs for each in other.counts] == [0]
