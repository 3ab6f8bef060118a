"""The executor's stores in memory and in MongoDB return the same recent runs (EX-11)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from services.executor.tests.fixtures import at, new_run, signalled

from executor.adapters import mongo_run_queries
from executor.adapters.mongo_runs import MongoRuns
from executor.domain import lifecycle
from executor.domain.outcomes import NeedsInput
from executor.domain.run import Run
from executor.domain.signals import control
from executor.domain.situation.recent import RecentRuns, RunExcerpt
from executor.domain.steps import RequestLearning, RunTurn
from executor.ports import Runs
from rota_common.stores.mongo import Mongo
from rota_common.testing.samples import NOON
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.robots.robot import Phase
from tests.conformance.executor_store import created

EARLIEST = NOON - timedelta(days=7)
NOW = new_run("clock").with_execution(execution_id="now")


def ago(**time: float) -> datetime:
    return NOON - timedelta(**time)


def other(run_id: str, *, hours: float = 1, run: Run | None = None, **fields: Any) -> Run:
    """Another run of the robot, begun so many hours ago."""
    return (run or at(RunTurn)).with_execution(execution_id=run_id, created_at=ago(hours=hours), **fields)


def over(run_id: str, finished_at: datetime, *, run: Run | None = None, hours: float = 200, **fields: Any) -> Run:
    ended = lifecycle.finish(run or at(RequestLearning), ExecStatus.COMPLETED, now=finished_at)
    return other(run_id, hours=hours, run=ended, **fields)


def reported(run_id: str, *, hours: float, **fields: Any) -> Run:
    """A clock run that has made its report."""
    return other(run_id, hours=hours, run=at(Phase.GOALS, run=new_run("clock")), **fields)


async def recent(runs: Runs, *others: Run, limit: int = 20) -> RecentRuns:
    for run in others:
        await created(runs, run)
    return await runs.recent(NOW, earliest=EARLIEST, limit=limit)


def ids(glimpses: Any) -> list[str]:
    return [glimpse.execution_id for glimpse in glimpses]


async def test_ended_runs_come_newest_first_and_not_from_before_the_earliest(runs: Runs) -> None:  # EX-11
    second = timedelta(seconds=1)
    found = await recent(
        runs,
        *(over("a", ago(hours=3)), over("b", ago(minutes=1)), over("c", ago(days=2)), over("d", EARLIEST)),
        *(over("e", EARLIEST + second), over("f", EARLIEST - second), over("g", ago(minutes=1, microseconds=1))),
        *(over("bob", ago(hours=1), member_id="bob"), over("globex", ago(hours=1), team_id="globex")),
        over("dry", ago(hours=1), executor_mode=ExecutorMode.DRYRUN),
    )
    assert (found.since, found.under_way) == (EARLIEST, [])
    assert ids(found.ended) == ["b", "g", "a", "c", "e"]


async def test_it_goes_back_to_the_last_report_and_no_further(runs: Runs) -> None:  # EX-11
    found = await recent(
        runs,
        *(reported("old", hours=48), reported("last", hours=24), reported("after", hours=-1)),
        *(reported("dry", hours=2, executor_mode=ExecutorMode.DRYRUN), reported("bob", hours=2, member_id="bob")),
        other("silent", hours=1, run=new_run("clock")),
        *(over("a", ago(hours=23)), over("b", ago(hours=24)), over("c", ago(hours=25))),
        over("d", ago(hours=24) + timedelta(microseconds=1)),
    )
    assert found.since == ago(hours=24)
    assert ids(found.ended) == ["a", "d"]


async def test_a_report_from_before_the_earliest_instant_counts_for_nothing(runs: Runs) -> None:  # EX-11
    found = await recent(runs, reported("old", hours=24 * 8))
    assert (found.since, ids(found.under_way)) == (EARLIEST, ["old"])


async def test_runs_under_way_come_oldest_first_with_what_they_wait_for(runs: Runs) -> None:  # EX-11
    asks = lifecycle.apply(at(RunTurn), NeedsInput("Which Globex?"), now=NOON)
    paused = control.park(signalled(at(RunTurn), "pause"), now=NOON)
    found = await recent(
        runs, other("asks", hours=2, run=asks), other("paused", hours=3, run=paused), other("works", hours=300), NOW
    )
    assert ids(found.under_way) == ["works", "paused", "asks"]
    assert [str(glimpse.status) for glimpse in found.under_way] == ["running", "paused", "waiting"]
    question = found.under_way[-1].question
    assert (question and question.question, found.ended) == ("Which Globex?", [])


async def test_ended_runs_have_the_fields_that_a_report_needs(runs: Runs) -> None:  # EX-11
    run = signalled(at(RequestLearning, run=new_run("human")), "instruct", "be kind")
    failed = over("a", ago(hours=1), run=run.with_execution(error="no model", rehearsed=True))
    (glimpse,) = (await recent(runs, failed)).ended
    assert glimpse == RunExcerpt.model_validate(failed.execution.model_dump())
    assert (glimpse.error, glimpse.content and glimpse.content.summary, glimpse.rehearsed) == (
        "no model",
        "Done.",
        True,
    )
    assert (glimpse.interventions[0].text, glimpse.trigger.input.messages[0].text()) == ("be kind", "Look at Globex")


async def test_the_limit_holds_for_each_kind(runs: Runs) -> None:  # EX-11
    many = [over(f"o{n}", ago(hours=n)) for n in range(1, 5)] + [other(f"u{n}", hours=n) for n in range(1, 5)]
    found = await recent(runs, *many, limit=2)
    assert (ids(found.ended), ids(found.under_way)) == (["o1", "o2"], ["u4", "u3"])


@pytest.mark.parametrize("what", ["report", "under way", "ended"])
async def test_the_queries_for_recent_runs_examine_no_more_than_they_return(
    what: str, mongo_url: str, mongo_prefix: str
) -> None:
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    runs = MongoRuns(mongo.database)
    await runs.prepare()
    query, order, index = {
        "report": (mongo_run_queries.reports_before(NOW, EARLIEST), "created_at", "by_clock"),
        "under way": (mongo_run_queries.under_way_beside(NOW), "created_at", "under_way"),
        "ended": (
            mongo_run_queries.ended_since(NOW, EARLIEST),
            mongo_run_queries.FINISHED_AT,
            "run.execution.finished_at_-1",
        ),
    }[what]
    for number in range(1, 50):  # what wasn't run by the clock, and ended long ago
        await created(runs, over(f"e{number}", EARLIEST - timedelta(hours=number), hours=number))
    plan = await runs._runs.find(query).sort(order, -1).limit(20).explain()
    assert index in str(plan["queryPlanner"]["winningPlan"])
    assert plan["executionStats"]["totalDocsExamined"] == 0
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()
