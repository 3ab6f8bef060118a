"""In which order what waits gets its slots: every rule, each against the one below it, and all of them at random."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota_common.testing.samples import NOON
from rota_contracts.messages.trigger import TriggerType
from scheduler.domain.queue import Entry, QueueState, pick

MINUTE = timedelta(minutes=1)
CLOCK, EVENT, HUMAN, CALLBACK = TriggerType.CLOCK, TriggerType.EVENT, TriggerType.HUMAN, TriggerType.CALLBACK


def one(name: str, *, waited: float = 0, **fields: Any) -> Entry:
    """An execution of a robot of its own, unless `member` is given; `waited` in minutes."""
    given: dict[str, Any] = {"team": "a", "member": name, "type": EVENT, "priority": 5, "max_running": 1}
    return Entry(**{"execution_id": name, "queued_at": NOON - waited * MINUTE, **given, **fields})


def resumed(name: str, *, came: float, **fields: Any) -> Entry:
    """One that came so many minutes ago, was parked, and can go on by now."""
    queue_state = QueueState(parked={name: one(name, waited=came, parks=1, **fields)})
    entry = queue_state.resume(name, 1, NOON)
    assert entry is not None
    return entry


def some(count: int, team: str) -> tuple[Entry, ...]:
    """What runs: so many executions of so many robots of a team."""
    return tuple(one(f"{team}-runs-{number}", team=team) for number in range(count))


@dataclass(frozen=True)
class Row:
    """What waits, in the order in which it came; what runs; and the order in which slots are given."""

    title: str
    waits: Sequence[Entry]
    order: str
    runs: Sequence[Entry] = field(default=())
    pool: int = 100

    def __str__(self) -> str:
        return self.title


ROOM = (
    Row("nothing waits", [], ""),
    Row("the pool is full", [one("x")], "", some(3, "a"), pool=3),
    Row("the pool is over-full, since it was made smaller", [one("x")], "", some(3, "a"), pool=2),
    Row("one slot is free, and one gets it", [one("x", priority=4), one("y")], "y", some(2, "a"), pool=3),
    Row("a robot at its quota lets all others pass", [one("x", member="m", priority=10), one("y", priority=1)], "y",
        [one("r", member="m")]),
    Row("a robot reaches its quota in this turn, and lets others pass",
        [one("x1", member="m", priority=10, max_running=2, waited=3), one("x2", member="m", priority=10, max_running=2),
         one("x3", member="m", priority=10, max_running=2), one("y", priority=1)], "x1 x2 y"),
    Row("a robot at its quota waits even if it waited too long", [one("x", member="m", waited=20), one("y")], "y",
        [one("r", member="m")]),
    Row("a quota is a robot's: robots of one name in two teams have two",
        [one("x", team="b", member="m"), one("y", member="m")], "x", [one("r", member="m")]),
    Row("a team whose robots are all at their quota takes no share from the others",
        # three teams with a share of 2 each, were "c" counted; it is not: two teams with 3 each
        [one("old", team="a", waited=10), one("new", team="b"), one("no", team="c", max_running=0)], "old new",
        [*some(2, "a")], pool=6),
)  # fmt: skip

TEAMS = (
    Row("the team with the fewest running goes first",
        [one("x", team="a"), one("y", team="b"), one("z", team="c")], "z y x", [*some(2, "a"), *some(1, "b")]),
    Row("teams take turns, and what is given in this turn counts",
        [one("a1"), one("a2"), one("a3"), one("b1", team="b", waited=-0.5), one("b2", team="b", waited=-0.5)],
        "a1 b1 a2 b2 a3"),
    Row("a team that runs less catches up first",
        [one("a1", waited=1), one("b1", team="b"), one("b2", team="b"), one("b3", team="b")], "b1 b2 a1 b3",
        some(2, "a")),
    Row("fewest running before priority", [one("x", priority=10), one("y", team="b", priority=1)], "y x", some(1, "a")),
    Row("fewest running before what people want", [one("x", type=HUMAN), one("y", team="b", type=CLOCK)], "y x",
        some(1, "a")),
    Row("fewest running before age, as long as none waited too long",
        [one("x", waited=9.75), one("y", team="b")], "y x", some(1, "a")),
)  # fmt: skip

MERIT = (
    Row("the higher priority goes first", [one(str(number), priority=number) for number in (5, 1, 10, 7)], "10 7 5 1"),
    Row("a minute is worth a step of priority", [one("x", priority=7), one("y", priority=5, waited=2.25)], "y x"),
    Row("less than two minutes isn't worth two", [one("x", waited=1.75), one("y", priority=7)], "y x"),
    Row("priority before type", [one("x", type=HUMAN, priority=5), one("y", type=CLOCK, priority=6)], "y x"),
    Row("priority that was gained by waiting goes before type, too",
        [one("x", type=HUMAN), one("y", type=CLOCK, waited=0.25)], "y x"),
    Row("people before callbacks and events, and these before the clock",
        [one("x", type=CLOCK), one("y", type=CALLBACK), one("z", type=HUMAN)], "z y x"),
    Row("people before events", [one("x", type=EVENT), one("y", type=HUMAN)], "y x"),
    Row("events before the clock", [one("x", type=CLOCK), one("y", type=EVENT)], "y x"),
    Row("callbacks and events are equals: the older goes first",
        [one("x", type=CALLBACK, priority=6), one("y", waited=1), one("z", type=CALLBACK, priority=4, waited=2)],
        "z y x"),
    Row("type before age, at the same priority after ageing",
        [one("x", type=CLOCK, priority=4, waited=3), one("y", waited=2), one("z", type=HUMAN, priority=6, waited=1)],
        "z y x"),
    Row("age at last: the same priority after ageing, the same type",
        [one("x", priority=6, waited=1), one("y", priority=3, waited=4), one("z", waited=2)], "y z x"),
    Row("of those that came at once, the first that is known", [one("x"), one("y"), one("z")], "x y z"),
)  # fmt: skip

STARVING_AFTER = (
    Row("an entry that waited too long goes before a team with fewer running",
        [one("new", team="b", priority=10, type=HUMAN), one("old", priority=1, type=CLOCK, waited=10)], "old new",
        some(3, "a")),
    Row("a moment less isn't too long",
        [one("new", team="b", priority=10, type=HUMAN), one("old", priority=1, type=CLOCK, waited=9.75)], "new old",
        some(3, "a")),
    Row("of two that waited too long, that of the team with the fewest running",
        [one("x", waited=12), one("y", team="b", waited=10)], "y x", some(1, "a")),
    Row("of two of one team that waited too long, by priority",
        [one("x", priority=1, waited=10), one("y", priority=2, waited=10)], "y x"),
    Row("a team that holds its share gains nothing by it",  # two teams, ten slots: five each
        [one("old", waited=60), one("new", team="b", type=CLOCK, priority=1)], "new old", some(5, "a"), pool=10),
    Row("one below its share is enough",
        [one("old", waited=60), one("new", team="b", type=CLOCK, priority=1)], "old new", some(4, "a"), pool=10),
    Row("what is given in this turn counts: a team is helped up to its share",
        [one("o1", waited=60), one("o2", waited=50), one("o3", waited=40), one("new", team="b")], "o1 o2 new o3",
        some(3, "a"), pool=10),
    Row("a share need not be whole",  # three teams, ten slots: 3⅓ each
        [one("o1", waited=60), one("o2", waited=50), one("n", team="b"), one("m", team="c", waited=-0.5)], "o1 n m o2",
        some(3, "a"), pool=10),
    Row("a team alone may have all slots", [one("old", waited=10), one("new", priority=10)], "old new", some(8, "a"),
        pool=10),
    Row("in a team that holds its share, who waited too long has its age and no more",
        [one("old", priority=1, waited=10), one("new", priority=10, waited=5), one("x", team="b", max_running=0)],
        "new old", [*some(5, "a"), *some(1, "b")], pool=10),
    Row("so it is between teams that hold their shares",
        [one("old", priority=1, waited=10), one("new", priority=10, waited=9), one("mid", team="b", waited=9),
         one("c", team="c", priority=1)], "c new mid old", [*some(4, "a"), *some(4, "b")], pool=12),
)  # fmt: skip

GOES_ON = (
    Row("what goes on goes before its equals", [one("x", waited=4.75), resumed("y", came=30)], "y x"),
    Row("it has waited since it came, if that is less than its head start",
        [one("x", waited=3), resumed("y", came=2), one("z", waited=1)], "x y z"),
    Row("its head start is worth five steps of priority and no more",
        [one("x", priority=10, waited=0.25), resumed("y", came=600), one("z", priority=9)], "x y z"),
    Row("it hasn't waited too long, however long ago it came",
        [one("x", team="b", priority=1, type=CLOCK), resumed("y", came=600, priority=10)], "x y", some(1, "a")),
    Row("it keeps to its robot's quota", [resumed("x", came=60, member="m"), one("y")], "y", [one("r", member="m")]),
)  # fmt: skip


@pytest.mark.parametrize("row", [*ROOM, *TEAMS, *MERIT, *STARVING_AFTER, *GOES_ON], ids=str)
def test_slots_are_given_in_this_order(row: Row) -> None:  # SC-09 SC-10 SC-11
    chosen = pick(queue_state(row.waits, row.runs), pool=row.pool, now=NOON)
    assert " ".join(each.execution_id for each in chosen) == row.order


def queue_state(waits: Sequence[Entry], runs: Sequence[Entry]) -> QueueState:
    return QueueState({each.execution_id: each for each in waits}, {each.execution_id: each for each in runs})


def may_run(waits: Sequence[Entry], runs: Sequence[Entry]) -> list[Entry]:
    robots = [each.robot for each in runs]
    return [each for each in waits if robots.count(each.robot) < each.max_running]


def turn(waits: Sequence[Entry], runs: Sequence[Entry], pool: int) -> Callable[[Entry], Any]:
    """In words: the team with the fewest running, then priority with ageing, then human, event, clock, then age; and
    before all, an entry that waited ten minutes, as long as its team holds less than its share."""
    teams = [each.team for each in runs]
    share = pool / len({*teams, *(each.team for each in may_run(waits, runs))})

    def place(each: Entry) -> Any:
        waited = NOON - each.queued_at
        starves = waited >= 10 * MINUTE and teams.count(each.team) < share
        kind = [{HUMAN}, {CALLBACK, EVENT}, {CLOCK}]
        urgency = each.priority * MINUTE + waited
        type_at = next(at for at, types in enumerate(kind) if each.type in types)
        return not starves, teams.count(each.team), -urgency, type_at, -waited

    return place


WAITED = st.sampled_from([0, 0.25, 1, 2, 9, 9.75, 10, 10.25, 11])
"""Minutes; few values, so that many are equals, and quarters, so that they are to the last bit."""

ONE = st.fixed_dictionaries(
    {
        "team": st.sampled_from("abc"),
        "member": st.sampled_from("mn"),
        "type": st.sampled_from(TriggerType),
        "priority": st.sampled_from([1, 2, 3, 10]),
        "waited": WAITED,
    }
)
QUOTAS = st.fixed_dictionaries({(team, member): st.sampled_from([1, 2, 9]) for team in "abc" for member in "mn"})


@settings(max_examples=settings.default.max_examples * 5, deadline=None)
@given(st.lists(ONE, min_size=3, max_size=16), st.lists(ONE, max_size=8), QUOTAS, st.integers(1, 16))
def test_whatever_waits_and_runs_each_slot_goes_to_the_one_whose_turn_it_is(
    waiting: list[dict[str, Any]], running: list[dict[str, Any]], quotas: dict[tuple[str, str], int], pool: int
) -> None:  # SC-09 SC-10 SC-11
    def made(name: str, fields: dict[str, Any]) -> Entry:
        return one(name, max_running=quotas[fields["team"], fields["member"]], **fields)

    waits = [made(f"w{number}", fields) for number, fields in enumerate(waiting)]
    runs = [made(f"r{number}", fields) for number, fields in enumerate(running)]
    on = queue_state(waits, runs)
    for chosen in pick(on, pool=pool, now=NOON):
        place = turn(waits, runs, pool)
        assert chosen in may_run(waits, runs)
        assert place(chosen) == min(place(each) for each in may_run(waits, runs))
        waits.remove(chosen)
        runs.append(chosen)
        assert len(runs) <= pool
    assert not may_run(waits, runs) or len(runs) >= pool  # and no slot stays free
    assert Counter(each.execution_id for each in on.queued.values()).total() == len(waiting)  # choosing changes nothing


def test_an_order_is_kept_from_turn_to_turn() -> None:  # SC-11
    """Slots that come free one by one are given as if they had come at once."""
    waits = [one(f"{team}{number}", team=team, waited=number) for team in "ab" for number in range(6)]
    at_once = [each.execution_id for each in pick(queue_state(waits, ()), pool=12, now=NOON)]
    on, one_by_one = queue_state(waits, ()), list[str]()
    for pool in range(1, 13):
        for each in pick(on, pool=pool, now=NOON):
            on.admit(each.execution_id, NOON)
            one_by_one.append(each.execution_id)
    assert one_by_one == at_once
    assert len(one_by_one) == len(waits)
