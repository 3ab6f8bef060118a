"""Executions that wait give their slot back and get another one, in whatever order the reports come."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from services.scheduler.tests.harness import Desk, finished, parked, resumable, started

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.messages.trigger import TriggerType
from scheduler.domain import HEAD_START, Board, Entry, State, consider, pick
from scheduler.robot_summary import card_of


class Heard(NamedTuple):
    """A report, and where it stands in the life of an execution: 1 parked, 2 resumable, 3 parked again …"""

    kind: str
    count: int

    @property
    def level(self) -> int:
        return 2 * self.count - (self.kind == "parked")


REPORTS = st.lists(
    st.builds(Heard, st.sampled_from(["started", "parked", "resumable"]), st.integers(1, 4)), max_size=14
)


def a_board(**fields: Any) -> Board:
    base: dict[str, Any] = {"team": TEAM, "member": MEMBER, "type": TriggerType.EVENT, "priority": 5, "max_running": 2}
    return Board(active={"e1": Entry(execution_id="e1", queued_at=NOON, **base | fields)})


def hear(board: Board, report: Heard) -> None:
    match report.kind:
        case "parked":
            board.park("e1", report.count)
        case "resumable":
            board.resume("e1", report.count, NOON)
        case "started":
            board.start("e1", report.count)


def place(board: Board) -> str:
    (name,) = [name for name in ("queued", "active", "parked") if "e1" in getattr(board, name)]
    return name


@given(REPORTS)
def test_the_latest_of_its_life_is_where_it_is_in_whatever_order_it_is_heard(reports: list[Heard]) -> None:
    board = a_board()
    for report in reports:
        hear(board, report)
    moves = [report for report in reports if report.kind != "started"]
    if not moves:
        assert (place(board), board.active["e1"].parks) == ("active", 0)
        return
    last = max(moves, key=lambda report: report.level)
    entry = board.find("e1")
    assert entry is not None
    assert (place(board), entry.parks) == ({"parked": "parked", "resumable": "queued"}[last.kind], last.count)


@given(REPORTS, st.data())
def test_neither_the_order_nor_repetition_matters(reports: list[Heard], data: st.DataObject) -> None:
    once, again = a_board(), a_board()
    for report in reports:
        hear(once, report)
    for report in data.draw(st.permutations(reports + reports)):
        hear(again, report)
    settled = [replace(board.find("e1") or pytest.fail("it is gone"), running=False) for board in (once, again)]
    assert (place(once), settled[0]) == (place(again), settled[1])


@given(REPORTS, st.integers(0, 14))
def test_after_its_end_nothing_counts(reports: list[Heard], end: int) -> None:
    board = a_board()
    for report in reports[:end]:
        hear(board, report)
    board.free("e1")
    for report in reports[end:]:
        hear(board, report)
    assert board == Board()


@given(REPORTS)
def test_only_the_grant_that_it_holds_can_be_taken_up(reports: list[Heard]) -> None:
    board = a_board()
    for report in reports:
        hear(board, report)
        for chosen in pick(board, pool=1, now=NOON):
            board.admit(chosen.execution_id, NOON)
        before = board.active.get("e1")
        for grant in range(6):
            news = board.start("e1", grant)
            assert news == (before is not None and not before.running and grant == before.parks)


@pytest.mark.parametrize(
    ("reports", "where", "parks"),
    [
        ([Heard("parked", 1)], "parked", 1),
        ([Heard("parked", 1), Heard("parked", 1)], "parked", 1),
        ([Heard("parked", 1), Heard("resumable", 1)], "queued", 1),
        ([Heard("resumable", 1), Heard("parked", 1)], "queued", 1),  # the later word came first
        ([Heard("parked", 2), Heard("resumable", 1)], "parked", 2),  # of an earlier wait
        ([Heard("resumable", 1), Heard("parked", 2)], "parked", 2),  # paused before it got its slot
        ([Heard("parked", 1), Heard("resumable", 2)], "queued", 2),
    ],
)
def test_a_wait_is_known_by_its_number(reports: list[Heard], where: str, parks: int) -> None:
    board = a_board()
    for report in reports:
        hear(board, report)
    entry = board.find("e1")
    assert entry is not None
    assert (place(board), entry.parks, entry.running) == (where, parks, False)


def test_what_goes_on_goes_before_its_equals_but_not_before_everybody() -> None:
    later = NOON + timedelta(days=2)
    board = a_board()
    board.park("e1", 1)
    resumed = board.resume("e1", 1, later)
    assert resumed is not None
    assert resumed.queued_at == later - HEAD_START
    equal = replace(resumed, execution_id="e2", queued_at=later - timedelta(minutes=2))
    other = replace(equal, execution_id="e3", team="calm")
    busy = replace(equal, execution_id="e4", member="bob")
    board = Board({"e1": resumed, "e2": equal, "e3": other}, {"e4": busy})
    assert [entry.execution_id for entry in pick(board, pool=9, now=later)] == ["e3", "e1", "e2"]


async def test_a_parked_execution_gives_its_slot_to_the_next() -> None:  # SC-10
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(3)))
        await desk.take(started("t0"), parked("t0"))
        assert [await desk.state(f"t{n}") for n in range(3)] == ["parked", "admitted", "admitted"]
        assert desk.told.requested_ids == ["t0", "t1", "t2"]


async def test_what_can_go_on_gets_a_slot_under_its_next_grant() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        for parks in (1, 2):
            await desk.take(parked("t1", parks))
            await desk.take(resumable("t1", parks))
            assert await desk.state("t1") is State.ADMITTED
            await desk.take(started("t1", grant=parks))
            assert await desk.state("t1") is State.RUNNING
    assert desk.told.grants == [("t1", 1), ("t1", 2)]


async def test_what_was_parked_and_goes_on_in_one_turn_is_requested_once() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        await desk.take(started("t1"), parked("t1"), resumable("t1"), parked("t1"))
        assert await desk.state("t1") is State.ADMITTED
    assert desk.told.grants == [("t1", 1)]


async def test_what_can_go_on_waits_for_a_free_slot() -> None:  # SC-10
    async with Desk().running() as desk:
        await desk.take(*(a_trigger(f"t{n}") for n in range(3)))
        await desk.take(parked("t0"))
        await desk.take(resumable("t0"))
        assert await desk.state("t0") is State.QUEUED
        await desk.take(finished("t1"))
        assert await desk.state("t0") is State.ADMITTED


async def test_a_full_queue_refuses_nobody_who_has_begun() -> None:  # SC-10
    async with Desk().running() as desk:
        desk.robots.kept[MEMBER] = a_robot(config={"quota": {"max": 1, "queue": 1}})
        await desk.take(a_trigger("t0"), a_trigger("t1"))
        await desk.take(parked("t0"))
        await desk.take(a_trigger("t2"), a_trigger("t3"))
        await desk.take(resumable("t0"))
        states = [await desk.state(f"t{n}") for n in range(4)]
    assert states == ["queued", "admitted", "queued", "rejected"]


async def test_the_end_of_what_is_parked_is_its_end() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        await desk.take(parked("t1"))
        await desk.take(finished("t1"))
        await desk.take(resumable("t1"), parked("t1", 2))
        assert await desk.state("t1") is State.DONE
        assert await desk.queue.board() == Board()


async def test_a_late_word_of_a_start_is_no_start_of_the_next_grant() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        await desk.take(parked("t1"), resumable("t1"))
        await desk.take(started("t1"))
        assert await desk.state("t1") is State.ADMITTED


async def test_a_grant_that_nobody_takes_up_is_sent_again_until_it_is() -> None:
    async with Desk().running() as desk:
        await desk.take(a_trigger("t1"))
        await desk.take(started("t1"), parked("t1"), resumable("t1"))
        desk.clock.forward(59)
        await desk.queue.acquire("first")
        desk.clock.forward(2)
        while not desk.told.again:
            await asyncio.sleep(0.01)
        await desk.take(started("t1", grant=1))
        desk.clock.forward(61)
        await desk.queue.acquire("first")
        await desk.take(started("t1", grant=1))  # is answered when the lease is renewed, after which it would be sent
        await desk.take(started("t1", grant=1))
        assert desk.told.again == [("t1", 1)]


def test_a_robots_slots_count_what_runs_and_not_what_is_parked() -> None:  # SC-10
    board = a_board()
    board.park("e1", 1)
    quota = card_of(a_robot(config={"quota": {"max": 1, "queue": 0}}))
    assert isinstance(consider(a_trigger(), quota, board, now=NOON), Entry)
