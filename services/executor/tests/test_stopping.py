"""Ends from outside: a deleted robot, and ends that only a sweep publishes."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from services.executor.tests.fixtures import new_run
from services.executor.tests.harness import TIMEOUTS, WorkerHarness

from executor.adapters.in_memory_runs import InMemoryRuns
from executor.domain.outcomes import Outcome
from executor.domain.run import Run, Signal
from executor.domain.steps import RunTurn, Step
from executor.ports import Scope
from executor.runs.stop_runs import RemoveTeam, StopRuns
from executor.runs.sweeper import Sweeper
from executor.runs.worker import RunWorker
from rota_common.errors import Transient
from rota_common.stores.blobs import Owner
from rota_common.testing.in_memory_stores import InMemoryBlobs, InMemoryTeamDocuments
from rota_common.testing.samples import MEMBER, NOON, TEAM, SetClock
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.robot_facts import RobotDeletedV1
from rota_contracts.messages.team_facts import TeamRemovedV1
from rota_contracts.model import ALL

GONE: Any = SimpleNamespace(data=RobotDeletedV1(team_id=TEAM, member_id=MEMBER, rev=2))


def stopping(harness: WorkerHarness, worker: RunWorker | None = None) -> StopRuns:
    return StopRuns(
        runs=harness.runs, worker=worker or harness.worker, send=harness.sender(worker), clock=harness.clock
    )


async def test_a_waiting_run_of_a_deleted_robot_ends_at_once() -> None:  # TG-20
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    await stopping(harness).of_robot(GONE)
    assert harness.published.facts[-1] == "finished cancelled"
    assert (await harness.run()).execution.error == "the robot was deleted"


async def test_a_held_run_of_a_deleted_robot_ends_at_its_next_write() -> None:  # TG-20
    harness = WorkerHarness()
    stop = stopping(harness, harness.new_worker("second"))

    async def deleted(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            with pytest.raises(Transient, match="1 executions are still at a step"):
                await stop.of_robot(GONE)
        return await harness.succeed(run, step)

    harness.run_step = deleted
    await harness.worker.start(new_run())
    assert harness.steps[-2:] == ["RunTurn", "CheckRules"]  # without a rule, no service is asked
    assert harness.published.facts[-1] == "finished cancelled"
    await stop.of_robot(GONE)  # the message comes again, and is done with


async def test_the_runs_of_a_removed_team_end_before_they_are_removed() -> None:
    harness, documents, blobs = WorkerHarness(), InMemoryTeamDocuments(), InMemoryBlobs()
    text = await blobs.keep("long", owner=Owner(TEAM, "e1"), inline_limit=0)
    remove = RemoveTeam(stop=stopping(harness, harness.new_worker("second")), blobs=blobs, documents=documents)
    event: Any = SimpleNamespace(data=TeamRemovedV1(team_id=TEAM, member_id=ALL, removed_at=NOON, round=1))

    async def removed(run: Run, step: Step) -> Outcome:
        if isinstance(step, RunTurn):
            with pytest.raises(Transient, match="1 executions are still at a step: the team was removed"):
                await remove(event)
            assert (await blobs.read(text), documents.removed) == ("long", [])
        return await harness.succeed(run, step)

    harness.run_step = removed
    await harness.worker.start(new_run())
    assert harness.published.facts[-1] == "finished cancelled"
    await remove(event)  # the message comes again
    assert (await blobs.empty(), documents.removed) == (True, [TEAM])


async def test_an_unpublished_end_is_published_when_the_stop_is_redelivered() -> None:  # TG-20
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    harness.published.unavailable = {"finished cancelled"}
    with pytest.raises(ConnectionError):
        await stopping(harness).of_robot(GONE)
    harness.published.unavailable.clear()
    await stopping(harness).of_robot(GONE)
    assert harness.published.facts[-1] == "finished cancelled"


async def test_an_end_that_a_sweep_could_not_publish_is_published_by_the_next() -> None:
    harness = WorkerHarness()
    await harness.worker.start(new_run())
    await harness.runs.send_signal(Scope(TEAM, MEMBER), Signal(id="w1", action="stop", reason="no more", at=NOON))
    harness.published.unavailable = {"finished cancelled"}
    with pytest.raises(ConnectionError):
        await harness.worker.resume("e1", from_sweeper=True)
    assert (await harness.run()).execution.status is ExecStatus.CANCELLED
    harness.published.unavailable.clear()
    harness.clock.forward(TIMEOUTS.patience)
    assert [run_id async for run_id in harness.runs.overdue(limit=10)] == ["e1"]
    await harness.worker.resume("e1", from_sweeper=True)
    assert harness.published.facts[-1] == "finished cancelled"
    harness.clock.forward(9999)
    assert await harness.overdue() == []


async def test_after_an_outage_of_the_store_live_workers_renew_their_claims_first() -> None:  # F9
    clock = SetClock()
    runs = InMemoryRuns(clock=clock)
    seen = list[str]()

    class Driving:
        async def resume(self, run_id: str, *, from_sweeper: bool) -> None:
            seen.append(run_id)

    async def taken_up() -> list[str]:
        await sweep()
        await asyncio.sleep(0)
        return seen

    given: Any = Driving()
    give: Any = None  # no run is past its deadline
    sweep = Sweeper(
        runs=runs, worker=given, send=give, clock=clock, lease=4, monotonic=lambda: (clock() - NOON).total_seconds()
    )
    assert await taken_up() == []
    for run_id in ("alive", "dead"):
        assert await runs.create(new_run().with_execution(execution_id=run_id), owner="x", lease=timedelta(0)) == 1
    clock.forward(10)
    assert await taken_up() == [], "no claim could be renewed while the store was away"
    await runs.renew("alive", 1, lease=timedelta(seconds=60))
    for _ in range(3):
        clock.forward(1)
        assert await taken_up() == []
    clock.forward(1)
    assert await taken_up() == ["dead"]


async def test_one_bad_run_keeps_no_other_from_being_swept() -> None:
    clock = SetClock()
    runs = InMemoryRuns(clock=clock)
    for run_id in ("bad", "good"):
        epoch = await runs.create(new_run().with_execution(execution_id=run_id), owner="dead", lease=timedelta(0))
        assert epoch == 1
    seen, both = list[str](), asyncio.Event()

    class Driving:
        async def resume(self, run_id: str, *, from_sweeper: bool) -> None:
            seen.append(run_id)
            if len(seen) >= 2:
                both.set()
            if run_id == "bad":
                raise ValueError("a bug")

    given: Any = Driving()
    give: Any = None  # no run is past its deadline
    sweep = Sweeper(runs=runs, worker=given, send=give, clock=clock, lease=4)
    await sweep()
    await asyncio.wait_for(both.wait(), 5)
    await sweep.close()
    assert sorted(seen) == ["bad", "good"]


async def test_runs_that_can_not_be_gone_on_with_hide_no_other_from_the_sweeper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("executor.runs.sweeper.BATCH", 3)
    clock = SetClock()
    runs = InMemoryRuns(clock=clock)
    for number in range(3):
        bad = new_run().with_execution(execution_id=f"bad {number}")
        await runs.create(bad, owner="dead", lease=timedelta(hours=-1))
    await runs.create(new_run().with_execution(execution_id="good"), owner="dead", lease=timedelta(0))
    seen = set[str]()

    class Driving:
        async def resume(self, run_id: str, *, from_sweeper: bool) -> None:
            seen.add(run_id)
            if run_id != "good":
                raise ValueError("a bug")

    given: Any = Driving()
    give: Any = None  # no run is past its deadline
    sweep = Sweeper(runs=runs, worker=given, send=give, clock=clock, lease=4)
    for _ in range(3):
        await sweep()
        await asyncio.sleep(0)
        if "good" in seen:
            break
    await sweep.close()
    assert "good" in seen


async def test_a_run_whose_deadline_can_not_be_signalled_keeps_no_other_from_its_end() -> None:
    clock = SetClock()
    runs = InMemoryRuns(clock=clock)
    for run_id in ("bad", "good"):
        run = new_run().with_execution(execution_id=run_id, deadline_at=NOON)
        await runs.create(run, owner="dead", lease=timedelta(hours=1))
    ended = list[str]()

    async def send(scope: Scope, _: Signal) -> None:
        if scope.execution_id == "bad":
            raise ValueError("a bug")
        ended.append(str(scope.execution_id))

    worker: Any = None  # nothing is overdue
    given: Any = send
    await Sweeper(runs=runs, worker=worker, send=given, clock=clock, lease=4)()
    assert ended == ["good"]
