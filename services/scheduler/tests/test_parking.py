"""Executions that wait give their slot back and get another one, in whatever order the reports come."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from services.scheduler.tests.harness import Harness, finished, parked, resumable, started

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.messages.trigger import TriggerType
from scheduler.domain.admission import consider, enqueue
from scheduler.domain.queue import HEAD_START, Entry, EntryState, QueueState, pick
from scheduler.domain.robot_summary import summary_of


class ReportStep(NamedTuple):
    """A report, and where it stands in the life of an execution: 1 parked, 2 resumable, 3 parked again …"""

    kind: str
    count: int

    @property
    def level(self) -> int:
        return 2 * self.count - (self.kind == "parked")


REPORTS = st.lists(
    st.builds(ReportStep, st.sampled_from(["started", "parked", "resumable"]), st.integers(1, 4)), max_size=14
)


def a_board(**fields: Any) -> QueueState:
    base: dict[str, Any] = {"team": TEAM, "member": MEMBER, "type": TriggerType.EVENT, "priority": 5, "max_running": 2}
    return QueueState(active={"e1": Entry(execution_id="e1", queued_at=NOON, **base | fields)})


def apply(queue_state: QueueState, report: ReportStep) -> None:
    match report.kind:
        case "parked":
            queue_state.park("e1", report.count)
        case "resumable":
            queue_state.resume("e1", report.count, NOON)
        case "started":
            queue_state.start("e1", report.count)


def place(queue_state: QueueState) -> str:
    (name,) = [name for name in ("queued", "active", "parked") if "e1" in getattr(queue_state, name)]
    return name


@given(REPORTS)
def test_the_latest_report_decides_in_whatever_order_reports_arrive(reports: list[ReportStep]) -> None:
    queue_state = a_board()
    for report in reports:
        apply(queue_state, report)
    moves = [report for report in reports if report.kind != "started"]
    if not moves:
        assert (place(queue_state), queue_state.active["e1"].parks) == ("active", 0)
        return
    last = max(moves, key=lambda report: report.level)
    entry = queue_state.find("e1")
    assert entry is not None
    assert (place(queue_state), entry.parks) == ({"parked": "parked", "resumable": "queued"}[last.kind], last.count)


@given(REPORTS, st.data())
def test_neither_the_order_nor_repetition_matters(reports: list[ReportStep], data: st.DataObject) -> None:
    once, again = a_board(), a_board()
    for report in reports:
        apply(once, report)
    for report in data.draw(st.permutations(reports + reports)):
        apply(again, report)
    done = [
        replace(queue_state.find("e1") or pytest.fail("it is gone"), running=False) for queue_state in (once, again)
    ]
    assert (place(once), done[0]) == (place(again), done[1])


@given(REPORTS, st.integers(0, 14))
def test_after_its_end_nothing_counts(reports: list[ReportStep], end: int) -> None:
    queue_state = a_board()
    for report in reports[:end]:
        apply(queue_state, report)
    queue_state.remove("e1")
    for report in reports[end:]:
        apply(queue_state, report)
    assert queue_state == QueueState()


@given(REPORTS)
def test_only_the_grant_that_it_holds_can_be_taken_up(reports: list[ReportStep]) -> None:
    queue_state = a_board()
    for report in reports:
        apply(queue_state, report)
        for chosen in pick(queue_state, pool=1, now=NOON):
            queue_state.admit(chosen.execution_id, NOON)
        before = queue_state.active.get("e1")
        for grant in range(6):
            news = queue_state.start("e1", grant)
            assert news == (before is not None and not before.running and grant == before.parks)


@pytest.mark.parametrize(
    ("reports", "where", "parks"),
    [
        ([ReportStep("parked", 1)], "parked", 1),
        ([ReportStep("parked", 1), ReportStep("parked", 1)], "parked", 1),
        ([ReportStep("parked", 1), ReportStep("resumable", 1)], "queued", 1),
        ([ReportStep("resumable", 1), ReportStep("parked", 1)], "queued", 1),  # the later report came first
        ([ReportStep("parked", 2), ReportStep("resumable", 1)], "parked", 2),  # of an earlier wait
        ([ReportStep("resumable", 1), ReportStep("parked", 2)], "parked", 2),  # paused before it got its slot
        ([ReportStep("parked", 1), ReportStep("resumable", 2)], "queued", 2),
    ],
)
def test_a_wait_is_known_by_its_number(reports: list[ReportStep], where: str, parks: int) -> None:
    queue_state = a_board()
    for report in reports:
        apply(queue_state, report)
    entry = queue_state.find("e1")
    assert entry is not None
    assert (place(queue_state), entry.parks, entry.running) == (where, parks, False)


def test_a_resumed_execution_goes_before_its_equals_but_not_before_all() -> None:
    later = NOON + timedelta(days=2)
    queue_state = a_board()
    queue_state.park("e1", 1)
    resumed = queue_state.resume("e1", 1, later)
    assert resumed is not None
    assert resumed.queued_at == later - HEAD_START
    equal = replace(resumed, execution_id="e2", queued_at=later - timedelta(minutes=2))
    other = replace(equal, execution_id="e3", team="calm")
    busy = replace(equal, execution_id="e4", member="bob")
    queue_state = QueueState({"e1": resumed, "e2": equal, "e3": other}, {"e4": busy})
    assert [entry.execution_id for entry in pick(queue_state, pool=9, now=later)] == ["e3", "e1", "e2"]


async def test_a_parked_execution_gives_its_slot_to_the_next() -> None:  # SC-10
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(3)))
        await harness.take(started("t0"), parked("t0"))
        assert [await harness.state(f"t{n}") for n in range(3)] == ["parked", "admitted", "admitted"]
        assert harness.published.requested_ids == ["t0", "t1", "t2"]


async def test_what_can_go_on_gets_a_slot_under_its_next_grant() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        for parks in (1, 2):
            await harness.take(parked("t1", parks))
            await harness.take(resumable("t1", parks))
            assert await harness.state("t1") is EntryState.ADMITTED
            await harness.take(started("t1", grant=parks))
            assert await harness.state("t1") is EntryState.RUNNING
    assert harness.published.grants == [("t1", 1), ("t1", 2)]


async def test_what_was_parked_and_goes_on_in_one_turn_is_requested_once() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        await harness.take(started("t1"), parked("t1"), resumable("t1"), parked("t1"))
        assert await harness.state("t1") is EntryState.ADMITTED
    assert harness.published.grants == [("t1", 1)]


async def test_what_can_go_on_waits_for_a_free_slot() -> None:  # SC-10
    async with Harness().open() as harness:
        await harness.take(*(a_trigger(f"t{n}") for n in range(3)))
        await harness.take(parked("t0"))
        await harness.take(resumable("t0"))
        assert await harness.state("t0") is EntryState.QUEUED
        await harness.take(finished("t1"))
        assert await harness.state("t0") is EntryState.ADMITTED


async def test_a_full_queue_rejects_no_execution_that_has_begun() -> None:  # SC-10
    async with Harness().open() as harness:
        harness.robots.kept[MEMBER] = a_robot(config={"quota": {"max": 1, "queue": 1}})
        await harness.take(a_trigger("t0"), a_trigger("t1"))
        await harness.take(parked("t0"))
        await harness.take(a_trigger("t2", "human"), a_trigger("t3", "human"))
        await harness.take(resumable("t0"))
        states = [await harness.state(f"t{n}") for n in range(4)]
    assert states == ["queued", "admitted", "queued", "rejected"]


async def test_the_end_of_what_is_parked_is_its_end() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        await harness.take(parked("t1"))
        await harness.take(finished("t1"))
        await harness.take(resumable("t1"), parked("t1", 2))
        assert await harness.state("t1") is EntryState.DONE
        assert await harness.queue.load() == QueueState()


async def test_a_late_report_of_a_start_does_not_start_the_next_grant() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        await harness.take(parked("t1"), resumable("t1"))
        await harness.take(started("t1"))
        assert await harness.state("t1") is EntryState.ADMITTED


async def test_a_grant_is_published_again_until_an_executor_starts_it() -> None:
    async with Harness().open() as harness:
        await harness.take(a_trigger("t1"))
        await harness.take(started("t1"), parked("t1"), resumable("t1"))
        harness.clock.forward(59)
        await harness.queue.acquire("first")
        harness.clock.forward(2)
        while not harness.published.again:
            await asyncio.sleep(0.01)
        await harness.take(started("t1", grant=1))
        harness.clock.forward(30)
        await harness.queue.acquire("first")
        harness.clock.forward(31)
        for _ in range(2):  # answered with a turn of all checks, after which it would be sent
            await harness.take(started("t1", grant=1))
        assert harness.published.again == [("t1", 1)]


def test_a_robots_slots_count_what_runs_and_not_what_is_parked() -> None:  # SC-10
    queue_state = a_board()
    queue_state.park("e1", 1)
    quota = summary_of(a_robot(config={"quota": {"max": 1, "queue": 0}}))
    wanted = consider(a_trigger(type="human"), quota, now=NOON)
    assert isinstance(wanted, Entry)
    assert enqueue(wanted, quota.quota, queue_state, pool=2, now=NOON) == wanted
