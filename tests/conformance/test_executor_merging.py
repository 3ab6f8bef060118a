"""The executor's stores in memory keep the same promises as those in MongoDB: results, goals, slots, the last word."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import at

from executor.adapters import mongo_run_queries
from executor.adapters.mongo_runs import MongoRuns
from executor.domain import journal, lifecycle
from executor.domain.run import CALLBACK, Callback, Run
from executor.domain.signals import control
from executor.domain.steps import RequestDelivery, RunTurn
from executor.ports import Fenced, Runs, SignalResult
from rota_common.clock import now
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.executor_capacity import SlotState
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import ExecutorMode
from tests.conformance.executor_store import ENDED, MINUTE, a_run, a_signal, bare, created, overdue


def calling(run_id: str = "e1", *, until: Any = None, callback_id: str = "") -> Run:
    """A run that has called a process; `until`: how long the result that it promised is waited for."""
    made = Callback(id=callback_id or f"cb-{run_id}", step_id="s1", task_id="t1", process="crm.pay", until=until)
    return a_run(run_id).model_copy(update={"callbacks": [made]})


async def let_go(runs: Runs, run: Run, *, check_in: Any = None) -> None:
    """The run in the store, unclaimed."""
    await runs.release(run, await created(runs, a_run(run.id)), check_in=check_in)


async def test_a_run_is_found_by_the_callbacks_of_its_calls(runs: Runs) -> None:  # TG-01
    await let_go(runs, calling("e1"))
    await let_go(runs, calling("e2"))
    over = lifecycle.finish(calling("e3"), ExecStatus.COMPLETED, now=NOON)
    await let_go(runs, over)
    found = [await runs.by_callback(callback_id) for callback_id in ("cb-e1", "cb-e2", "cb-e3", "cb-e4", "")]
    assert [run.id if run else None for run in found] == ["e1", "e2", "e3", None, None]


async def test_a_result_is_brought_once(runs: Runs) -> None:  # TG-01
    await let_go(runs, calling())
    odd = Text(inline='{"$set": "$inbox"}')
    word = a_signal(CALLBACK, "w1", callback="cb-e1", output=odd)
    answers = await asyncio.gather(*(runs.deliver_signal("e1", word) for _ in range(10)))
    assert (answers.count(SignalResult.ACCEPTED), answers.count(SignalResult.DUPLICATE)) == (1, 9)
    run = await runs.find("e1")
    assert run is not None
    assert run.inbox == [word]
    assert await overdue(runs) == ["e1"]


async def test_a_signal_to_a_held_run_leaves_its_claim(runs: Runs) -> None:
    run, epoch = calling(), await created(runs, calling())
    assert await runs.deliver_signal("e1", a_signal(CALLBACK)) is SignalResult.ACCEPTED
    assert await overdue(runs) == []
    assert [word.action for word in (await runs.save(run, epoch)).inbox] == [CALLBACK]


async def test_what_is_brought_to_a_run_that_will_be_looked_at_later_makes_it_now(runs: Runs) -> None:
    await let_go(runs, calling(), check_in=MINUTE)
    await runs.deliver_signal("e1", a_signal(CALLBACK))
    assert await overdue(runs) == ["e1"]


async def test_to_a_run_that_is_over_nothing_is_brought(runs: Runs) -> None:
    await let_go(runs, lifecycle.finish(calling(), ExecStatus.FAILED, now=NOON))
    assert await runs.deliver_signal("e1", a_signal(CALLBACK)) is SignalResult.FINISHED
    assert await overdue(runs) == []


async def test_what_was_brought_before_a_run_ended_was_brought(runs: Runs) -> None:
    epoch = await created(runs, calling())
    await runs.deliver_signal("e1", a_signal(CALLBACK))
    run = await runs.save(calling(), epoch)
    over = lifecycle.finish(journal.record_signals(run, now=NOON), ExecStatus.FAILED, now=NOON)
    assert await runs.finish(over, epoch, check_in=None) is not None
    assert await runs.deliver_signal("e1", a_signal(CALLBACK)) is SignalResult.DUPLICATE


async def test_a_promised_result_that_never_came_is_seen_when_its_time_is_over(runs: Runs) -> None:  # TG-01
    await let_go(runs, control.park(calling("e1", until=now() - MINUTE), now=NOON))
    await let_go(runs, control.park(calling("e2", until=now() + MINUTE), now=NOON))
    await let_go(runs, calling("e3"))
    await runs.mark_announced("e1")
    assert await overdue(runs) == ["e1"]
    claimed = await runs.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    run, epoch, _ = claimed
    assert await overdue(runs) == []  # it is in hand
    dropped = run.model_copy(update={"callbacks": [run.callbacks[0].model_copy(update={"until": None})]})
    await runs.release(dropped, epoch, check_in=None)
    assert await overdue(runs) == []


async def test_a_run_does_not_finish_before_it_applies_a_signal(runs: Runs) -> None:
    run, epoch = a_run(), await created(runs, a_run())
    await runs.deliver_signal("e1", a_signal("instruct"))
    over = lifecycle.finish(run, ExecStatus.COMPLETED, now=NOON)
    assert await runs.finish(over, epoch, check_in=None) is None
    again = await runs.save(run, epoch)
    assert [word.action for word in again.inbox] == ["instruct"]
    over = lifecycle.finish(journal.record_signals(again, now=NOON), ExecStatus.COMPLETED, now=NOON)
    left = await runs.finish(over, epoch, check_in=None)
    assert left is not None
    assert bare(await runs.find("e1")) == bare(left)
    assert await runs.claim("e1", owner="second", lease=MINUTE) is None


async def test_a_worker_that_lost_its_claim_does_not_finish_the_run(runs: Runs) -> None:
    old = await created(runs, a_run(), lease=ENDED)
    assert await runs.claim("e1", owner="second", lease=MINUTE) is not None
    with pytest.raises(Fenced):
        await runs.finish(lifecycle.finish(a_run(), ExecStatus.FAILED, now=NOON), old, check_in=None)


def at_work(run_id: str, *, minutes: int = 0, member: str = MEMBER, run: Run | None = None) -> Run:
    made = (run or at(RunTurn)).with_execution(execution_id=run_id, created_at=NOON - timedelta(minutes=minutes))
    return made.with_execution(member_id=member)


async def merge_targets(runs: Runs, run: Run, *, limit: int = 10) -> list[str]:
    return [taker.execution_id for taker in await runs.merge_targets(run, limit=limit)]


async def test_the_robots_runs_that_began_before_are_named_newest_first(runs: Runs) -> None:  # SC-13
    giver = at_work("e5")
    for run in (
        *(at_work("e1", minutes=30), at_work("e2", minutes=10), at_work("e3", minutes=20)),
        *(at_work("e4"), at_work("e6"), at_work("e7", minutes=-1), at_work("e8", minutes=5, member="bob")),
    ):
        await created(runs, run)
    assert await merge_targets(runs, giver) == ["e4", "e2", "e3", "e1"]
    assert await merge_targets(runs, giver, limit=2) == ["e4", "e2"]
    (first, *_) = await runs.merge_targets(giver, limit=1)
    assert (first.status, first.goals, first.about) == ("running", "## Goals\n1. Score it", "lead.created: Globex")


def not_targets() -> dict[str, Run]:
    return {
        "over": lifecycle.finish(at(RunTurn), ExecStatus.COMPLETED, now=NOON),
        "delivering": at(RequestDelivery),
        "stopping": at(RunTurn).model_copy(update={"cancelled": "by a person"}),
        "dry": at(RunTurn).with_execution(executor_mode=ExecutorMode.DRYRUN),
    }


@pytest.mark.parametrize("why", not_targets())
async def test_a_run_that_does_not_accept_goals_is_given_none(runs: Runs, why: str) -> None:  # SC-13
    giver, other = at_work("e5"), at_work("e1", minutes=5)
    epoch = await created(runs, other)
    assert await merge_targets(runs, giver) == ["e1"]
    await runs.save(at_work("e1", minutes=5, run=not_targets()[why]), epoch)
    assert await merge_targets(runs, giver) == []
    assert not await runs.merge("e1", a_signal("goal.add"), giver=giver)
    assert not await runs.merge("unknown", a_signal("goal.add"), giver=giver)


async def test_goals_are_given_once(runs: Runs) -> None:  # SC-13
    giver, other = at_work("e5"), at_work("e1", minutes=5)
    epoch = await created(runs, other)
    given = await asyncio.gather(*(runs.merge("e1", a_signal("goal.add"), giver=giver) for _ in range(5)))
    assert given == [True] * 5
    run = await runs.save(other, epoch)
    assert len(run.inbox) == 1
    over = lifecycle.finish(journal.record_signals(run, now=NOON), ExecStatus.FAILED, now=NOON)
    await runs.finish(over, epoch, check_in=None)
    assert await runs.merge("e1", a_signal("goal.add"), giver=giver)  # it has them
    assert not await runs.merge("e1", a_signal("goal.add", "w2"), giver=giver)


async def test_the_slots_of_many_runs_are_read_at_once(runs: Runs) -> None:  # SC-10
    parked = control.park(a_run("e2").model_copy(update={"paused": True}), now=NOON)
    for run in (
        a_run("e1"),
        parked,
        lifecycle.finish(a_run("e3").with_execution(error="no"), ExecStatus.FAILED, now=NOON),
    ):
        await let_go(runs, run)
    again = control.grant(parked.model_copy(update={"paused": False}), 1, now=NOON)
    await let_go(runs, again.with_execution(execution_id="e4"))
    assert list(await runs.slots(["e3", "unknown", "e1", "e2", "e4"])) == [
        SlotState(execution_id="e3", status=ExecStatus.FAILED, error="no"),
        SlotState(execution_id="unknown"),
        SlotState(execution_id="e1", status=ExecStatus.RUNNING),
        SlotState(execution_id="e2", status=ExecStatus.PAUSED, parks=1),
        SlotState(execution_id="e4", status=ExecStatus.RUNNING, parks=1, granted=1),
    ]


INSTANTS = ("due_at", "expires_at", "deadline_at")


async def test_no_question_that_is_asked_again_and_again_reads_all_runs(mongo_url: str, mongo_prefix: str) -> None:
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    runs = MongoRuns(mongo.database)
    await runs.prepare()
    mine = {"team_id": TEAM, "member_id": MEMBER}
    questions: list[tuple[Any, str | None]] = [
        (mongo_run_queries.overdue(), "due_at"),
        (mongo_run_queries.expired(), "expires_at"),
        (mongo_run_queries.past_deadline(), "deadline_at"),
        (mongo_run_queries.merge_targets_of(a_run()), "created_at"),
        ({**mine, "status": {"$in": mongo_run_queries.UNDER_WAY}}, "created_at"),
        ({"run.callbacks.id": "cb"}, None),
        ({"_id": {"$in": ["e1", "e2"]}}, None),
    ]
    for query, order in questions:
        found = runs._runs.find(query)
        plan = await (found.sort(order, 1) if order else found).explain()
        winner = str(plan["queryPlanner"]["winningPlan"])
        assert "COLLSCAN" not in winner, query
        assert order not in INSTANTS or "MinKey" not in winner, query  # no more than what is due
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
