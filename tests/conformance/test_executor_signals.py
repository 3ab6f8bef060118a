"""The executor's stores in memory keep the same promises as those in MongoDB: words, deadlines, the entries."""

import asyncio
from datetime import timedelta

import pytest
from services.executor.tests.fixtures import a_task, new_run, outcome_of

from executor.domain import journal, lifecycle
from executor.domain.outcomes import Planned
from executor.domain.run import CALLBACK, DEADLINE, Run, Signal, deadline_id
from executor.domain.signals import control
from executor.domain.signals.limits import SIGNALS_LIMIT
from executor.domain.steps import Finish
from executor.ports import Runs, Scope, SignalResult
from rota_common.clock import now
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.messages.execution import ExecStatus
from tests.conformance.executor_store import LATER, MINUTE, a_run, a_signal, bare, created, overdue


async def test_a_signal_to_a_robot_reaches_all_its_runs_and_no_other(runs: Runs) -> None:  # TG-20 F11
    owners = {"e1": MEMBER, "e2": MEMBER, "over": MEMBER, "other": "bob"}
    for run_id, member in owners.items():
        await created(runs, a_run(run_id, member=member))
    await created(runs, a_run("elsewhere", team="initech"))
    await runs.release(lifecycle.finish(a_run("over"), ExecStatus.FAILED, now=NOON), 1, check_in=None)
    for _ in range(2):  # a repeat returns the same runs
        assert sorted(run.id for run in await runs.send_signal(Scope(TEAM, MEMBER), a_signal())) == ["e1", "e2"]
    found = {run_id: await runs.find(run_id) for run_id in [*owners, "elsewhere"]}
    shown = {run_id: [word.reason for word in run.inbox] for run_id, run in found.items() if run is not None}
    assert shown == {"e1": ["no more"], "e2": ["no more"], "over": [], "other": [], "elsewhere": []}


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        (Scope(TEAM), ["bobs", "e1", "e2"]),
        (Scope(TEAM, MEMBER), ["e1", "e2"]),
        (Scope(TEAM, MEMBER, "e2"), ["e2"]),
        (Scope(TEAM, None, "bobs"), ["bobs"]),
        (Scope(TEAM, "bob", "e2"), []),
        (Scope("initech", None, "e2"), []),
        (Scope(TEAM, MEMBER, "unknown"), []),
    ],
)
async def test_a_signal_reaches_its_scope(runs: Runs, scope: Scope, shown: list[str]) -> None:  # TG-16 TG-23
    for run_id, member in {"e1": MEMBER, "e2": MEMBER, "bobs": "bob"}.items():
        await created(runs, a_run(run_id, member=member))
    assert sorted(run.id for run in await runs.send_signal(scope, a_signal("pause"))) == shown


async def test_a_repeated_signal_returns_the_same_runs(runs: Runs) -> None:  # TG-20
    epoch = await created(runs, a_run())
    (shown,) = await runs.send_signal(Scope(TEAM, MEMBER), a_signal())
    over = lifecycle.finish(control.apply_signals(shown, now=NOON), ExecStatus.CANCELLED, now=NOON)
    await runs.release(over, epoch, check_in=None)
    (again,) = await runs.send_signal(Scope(TEAM, MEMBER), a_signal())
    assert (again.id, again.execution.status, again.inbox) == ("e1", ExecStatus.CANCELLED, [])
    assert await runs.send_signal(Scope(TEAM, MEMBER), a_signal(word_id="w2")) == []


async def test_a_signal_sent_concurrently_is_stored_once(runs: Runs) -> None:
    await created(runs, a_run())
    await asyncio.gather(*(runs.send_signal(Scope(TEAM), a_signal()) for _ in range(10)))
    assert len(bare(await runs.find("e1")).inbox) == 1


async def test_signals_are_applied_once_in_the_order_they_were_sent(runs: Runs) -> None:
    epoch = await created(runs, a_run())
    await runs.send_signal(Scope(TEAM), a_signal("pause", "w1"))
    run = await runs.save(a_run(), epoch)
    await runs.send_signal(Scope(TEAM), a_signal("resume", "w2"))
    run = await runs.save(journal.record_signals(run, now=NOON), epoch)
    assert [word.id for word in run.inbox] == ["w2"]
    run = await runs.save(journal.record_signals(run, now=NOON), epoch)
    assert (run.inbox, run.applied) == ([], 2)
    assert [trace.intervention_id for trace in run.execution.interventions] == ["w1", "w2"]


async def test_a_signal_survives_every_write_and_comes_with_the_next(runs: Runs) -> None:
    run = a_run()
    epoch = await created(runs, run)
    await runs.send_signal(Scope(TEAM), a_signal("stop", "w1", reason="first word"))
    await runs.send_signal(Scope(TEAM), a_signal("pause", "w2", reason="second word"))
    reasons = ["first word", "second word"]
    assert [word.reason for word in (await runs.save(run, epoch)).inbox] == reasons
    assert [word.reason for word in (await runs.release(run, epoch, check_in=MINUTE)).inbox] == reasons
    claimed = await runs.claim("e1", owner="second", lease=MINUTE)
    assert claimed is not None
    assert control.apply_signals(claimed[0], now=NOON).cancelled == "first word"


def long_words(number: int) -> Signal:
    return a_signal("instruct", f"w{number}", messages=[{"content": "ж" * 100_000}])  # 200 kB


async def test_a_full_inbox_takes_a_stop_and_what_was_promised_and_nothing_else(runs: Runs) -> None:  # F11
    await created(runs, a_run())
    for number in range(20):
        await runs.send_signal(Scope(TEAM), long_words(number))
    taken = len(await runs.signals("e1"))
    assert 8 <= taken <= 10
    assert await runs.send_signal(Scope(TEAM, MEMBER, "e1"), long_words(99)) == []
    giver = a_run("e2", at=LATER)
    assert not await runs.merge("e1", a_signal("goal.add", "m1", messages=long_words(0).messages), giver=giver)
    assert await runs.deliver_signal("e1", a_signal(CALLBACK, "c1")) is SignalResult.ACCEPTED
    for number in range(3):
        (run,) = await runs.send_signal(Scope(TEAM, MEMBER, "e1"), a_signal("stop", f"s{number}"))
        assert run.id == "e1"
    assert [signal.id for signal in (await runs.signals("e1"))[taken:]] == ["c1", "s0"], "one stop is enough"


async def test_an_inbox_takes_so_many_signals_however_short(runs: Runs) -> None:
    run = a_run().model_copy(update={"inbox": [a_signal("pause", f"w{n}", reason="") for n in range(SIGNALS_LIMIT)]})
    await created(runs, run)
    assert await runs.send_signal(Scope(TEAM), a_signal("resume", "more")) == []
    assert [each.id for each in await runs.send_signal(Scope(TEAM), a_signal("stop", "stop"))] == ["e1"]


async def test_a_parked_run_that_is_signalled_is_checked_at_once(runs: Runs) -> None:
    parked = control.park(a_run().model_copy(update={"paused": True}), now=NOON)
    await runs.release(parked, await created(runs, a_run()), check_in=MINUTE)
    await runs.mark_announced("e1")
    assert await overdue(runs) == []  # it may stay so for weeks
    await runs.send_signal(Scope(TEAM), a_signal("resume"))
    assert await overdue(runs) == ["e1"]  # the sender may have died since
    await runs.mark_announced("e1")  # said of the time before the word
    assert await overdue(runs) == ["e1"]


async def past_deadline(runs: Runs) -> list[str]:
    return [run.id async for run in runs.past_deadline(limit=10)]


async def test_a_run_is_past_its_deadline_until_it_is_signalled(runs: Runs) -> None:  # DEC-34
    await created(runs, a_run("in time", at=now()))
    await created(runs, a_run())
    assert await past_deadline(runs) == ["e1"]
    await runs.send_signal(Scope(TEAM), a_signal(DEADLINE, deadline_id(0)))
    assert await past_deadline(runs) == []


async def test_a_run_parked_since_its_deadline_signal_is_past_its_deadline_again(runs: Runs) -> None:  # DEC-34
    run, epoch = a_run(), await created(runs, a_run())
    await runs.send_signal(Scope(TEAM), a_signal(DEADLINE, deadline_id(0)))
    parked = control.park(run.model_copy(update={"paused": True}), now=NOON + timedelta(hours=1))
    await runs.save(parked, epoch)
    assert await past_deadline(runs) == []  # it waits: that isn't work
    resumed = control.grant(parked.model_copy(update={"paused": False}), 1, now=NOON + timedelta(days=30))
    await runs.save(resumed, epoch)
    assert await past_deadline(runs) == ["e1"]


async def test_a_run_that_is_over_is_never_late(runs: Runs) -> None:
    run = a_run()
    await runs.release(lifecycle.finish(run, ExecStatus.FAILED, now=NOON), await created(runs, run), check_in=None)
    assert await past_deadline(runs) == []


async def test_a_robots_runs_under_way_are_named_oldest_first(runs: Runs) -> None:  # DEC-35
    for number, member in enumerate([MEMBER, MEMBER, "bob", MEMBER]):
        await created(runs, a_run(f"e{number}", member=member, at=NOON - timedelta(minutes=number)))
    await runs.release(lifecycle.finish(a_run("e1"), ExecStatus.COMPLETED, now=NOON), 1, check_in=None)
    assert await runs.under_way(TEAM, MEMBER, limit=5) == ["e3", "e0"]
    assert await runs.under_way(TEAM, MEMBER, limit=1) == ["e3"]
    assert await runs.under_way("initech", MEMBER, limit=5) == []


async def test_a_life_written_step_by_step_is_read_to_the_last_field(runs: Runs) -> None:  # EX-05
    run = new_run("clock")
    epoch = await created(runs, run)
    decided = 0
    while not isinstance(step := lifecycle.next_step(run), Finish):
        run = await runs.save(journal.record_outcome(run, outcome_of(run, step, expected="a result"), now=NOON), epoch)
        decided += 1
        assert bare(await runs.find("e1")) == bare(run)
        assert len(await runs.journal("e1")) == decided
    run = await runs.release(journal.record_finished(run, step.status, now=NOON), epoch, check_in=None)
    assert bare(await runs.find("e1")) == bare(run)
    assert [entry.kind for entry in await runs.journal("e1")][-2:] == ["Learnt", "finished"]


async def test_a_plan_that_gets_shorter_is_read_as_it_was_written(runs: Runs) -> None:
    run, epoch = a_run(), await created(runs, a_run())
    for count in (3, 1, 2):
        run = await runs.save(
            run.with_execution(tasks=[a_task(n, executor_id=f"a{count}") for n in range(count)]), epoch
        )
        assert bare(await runs.find("e1")) == bare(run)


async def test_arguments_with_any_names_are_kept_as_they_are(runs: Runs) -> None:
    odd = {"$ref": 1, "a.b": 2, "": 3, "$set": {"$inc": {"x.y": [{"$where": "1"}]}}, "ключ": None, "deep": [[[{}]]]}
    run, epoch = a_run(), await created(runs, a_run())
    run = await runs.save(run.with_execution(tasks=[a_task(1, args=[odd])]), epoch)
    entry = journal.record_outcome(_at_tasks(), Planned([a_task(1, args=[odd])], []), now=NOON).unsaved[-1]
    run = await runs.save(run.model_copy(update={"unsaved": [entry]}), epoch)
    assert (bare(await runs.find("e1")).execution.tasks or [])[0].args == [odd]
    (kept,) = await runs.journal("e1")
    assert kept == entry


def _at_tasks() -> Run:
    run = new_run()
    for _ in range(2):
        run = lifecycle.apply(run, outcome_of(run, lifecycle.next_step(run)), now=NOON)
    return run
