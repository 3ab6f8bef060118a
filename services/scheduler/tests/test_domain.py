"""The queue's rules: accepted triggers, and the entries that get the next slots."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from rota_common.testing.samples import MEMBER, NOON, TEAM, a_robot, a_trigger
from rota_contracts.ids import execution_id
from rota_contracts.messages.trigger import RejectReason, TriggerReceivedV1, TriggerType
from scheduler.domain.admission import consider, enqueue
from scheduler.domain.queue import AGE_PER_PRIORITY, STARVING_AFTER, Entry, EntryState, QueueState, Refusal, pick
from scheduler.domain.robot_summary import RobotSummary, summary_of

MINUTE = timedelta(minutes=1)


def a_card(**fields: Any) -> RobotSummary:
    return summary_of(a_robot(**fields))


def entry(name: str, **fields: Any) -> Entry:
    given: dict[str, Any] = {"team": TEAM, "member": MEMBER, "type": TriggerType.EVENT, "priority": 5, "max_running": 2}
    return Entry(**{"execution_id": name, "queued_at": NOON, **given, **fields})


def queue_state(*, queued: list[Entry] | None = None, active: list[Entry] | None = None) -> QueueState:
    return QueueState(
        {each.execution_id: each for each in queued or []}, {each.execution_id: each for each in active or []}
    )


def picked(
    queued: list[Entry], *, active: list[Entry] | None = None, pool: int = 10, now: datetime = NOON
) -> list[str]:
    return [each.execution_id for each in pick(queue_state(queued=queued, active=active), pool=pool, now=now)]


POOL = 200


def refusal(trigger: TriggerReceivedV1, robot: RobotSummary | None, on: QueueState | None = None) -> Refusal | None:
    verdict = consider(trigger, robot, now=NOON)
    if robot is not None and isinstance(verdict, Entry):
        verdict = enqueue(verdict, robot.quota, on or QueueState(), pool=POOL, now=NOON)
    return verdict if isinstance(verdict, Refusal) else None


def off(*names: str) -> dict[str, Any]:
    return {"triggers": {name: {"enabled": False} for name in names}}


def test_a_trigger_of_a_robot_gets_its_place() -> None:  # TG-05 SC-10
    robot = a_card(config={"quota": {"max": 3, "priority": 8}})
    assert consider(a_trigger(), robot, now=NOON) == Entry(
        execution_id=execution_id("t1"), team=TEAM, member=MEMBER, type=TriggerType.EVENT,
        priority=8, max_running=3, queued_at=NOON,
    )  # fmt: skip


@pytest.mark.parametrize("type", list(TriggerType))
def test_every_trigger_is_on_unless_it_is_switched_off(type: TriggerType) -> None:  # TG-01 TG-02
    assert refusal(a_trigger(type=type), a_card()) is None
    assert refusal(a_trigger(type=type), a_card(config={"triggers": {}})) is None


@pytest.mark.parametrize(
    ("type", "switch"), [("clock", "clock"), ("human", "intervene"), ("event", "event"), ("callback", "event")]
)
def test_a_trigger_that_is_switched_off_starts_nothing(type: str, switch: str) -> None:  # TG-03, DEC-19
    found = refusal(a_trigger(type=type), a_card(config=off(switch)))
    assert found is not None
    assert found.reason is RejectReason.TRIGGER_DISABLED
    assert found.message == f"{type} triggers are switched off for this robot"
    others = {"clock", "intervene", "event"} - {switch}
    assert refusal(a_trigger(type=type), a_card(config=off(*others))) is None


@pytest.mark.parametrize(("actions", "allowed"), [([], True), (["task.add", "instruct"], True), (["instruct"], False)])
def test_an_action_outside_the_list_is_refused(actions: list[str], allowed: bool) -> None:  # TG-04
    found = refusal(a_trigger(type="human"), a_card(config={"triggers": {"intervene": {"actions": actions}}}))
    assert (found is None) == allowed
    if found is not None:
        assert found == Refusal(RejectReason.ACTION_NOT_ALLOWED, "expected one of the actions instruct, not task.add")


@pytest.mark.parametrize(
    ("robot", "reason"),
    [
        (None, RejectReason.NO_ROBOT),
        (a_card(deleted=True), RejectReason.NO_ROBOT),
        (a_card(autonomous_mode=False), RejectReason.NOT_AUTONOMOUS),
        (a_card(robot_status="paused"), RejectReason.NOT_ACTIVE),
        (a_card(robot_status="maintenance"), RejectReason.NOT_ACTIVE),
        (a_card(robot_status="error"), None),  # DEC-15: a later run that completes ends the error
        (a_card(robot_status="idle"), None),
        (a_card(config={"quota": {"max": 1, "queue": 0}}), RejectReason.QUEUE_FULL),
    ],
)
def test_every_refusal_names_its_reason(robot: RobotSummary | None, reason: RejectReason | None) -> None:  # TG-05
    found = refusal(a_trigger(type="human"), robot, queue_state(active=[entry("e0")]))
    assert (found.reason if found else None) == reason
    assert found is None or found.message


FAULTS: list[tuple[RejectReason, dict[str, Any]]] = [
    (RejectReason.NO_ROBOT, {"deleted": True}),
    (RejectReason.NOT_AUTONOMOUS, {"autonomous_mode": False}),
    (RejectReason.TRIGGER_DISABLED, {}),
    (RejectReason.NOT_ACTIVE, {"robot_status": "paused"}),
    (RejectReason.QUEUE_FULL, {}),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_of_several_faults_the_first_is_the_reason(first: int) -> None:  # TG-05
    reasons = [reason for reason, _ in FAULTS[first:]]
    fields = {key: value for _, faults in FAULTS[first:] for key, value in faults.items()}
    config: dict[str, Any] = {"quota": {"max": 1, "queue": 0}}
    if RejectReason.TRIGGER_DISABLED in reasons:
        config |= off("intervene")
    found = refusal(a_trigger(type="human"), a_card(config=config, **fields), queue_state(active=[entry("e0")]))
    assert found is not None
    assert found.reason is reasons[0]


@pytest.mark.parametrize(
    ("running", "waiting", "full"),
    [(0, 0, False), (2, 0, False), (2, 9, False), (2, 10, True), (1, 11, True), (0, 12, True), (0, 11, False)],
)
def test_two_run_and_ten_wait_by_default(running: int, waiting: int, full: bool) -> None:  # SC-10
    full_board = queue_state(
        active=[entry(f"r{n}") for n in range(running)],
        queued=[entry(f"w{n}", type=TriggerType.HUMAN) for n in range(waiting)],
    )
    others = [entry(f"o{n}", member="bob") for n in range(50)] + [entry(f"x{n}", team="initech") for n in range(50)]
    for each in others:
        full_board.put(each, EntryState.QUEUED)
    assert refusal(a_trigger("event"), a_card(), full_board.copy()) is None  # DEC-48
    found = refusal(a_trigger(type="human"), a_card(), full_board)
    assert (found is not None) == full
    if found is not None:
        assert found.reason is RejectReason.QUEUE_FULL
        assert found.message.startswith(f"{running} executions run and {waiting} wait")


def test_a_full_pool_lets_no_more_wait_than_the_quota_says() -> None:  # SC-10, DEC-39
    others = [entry(f"o{n}", member="bob") for n in range(POOL)]
    waiting = [entry(f"w{n}", type=TriggerType.HUMAN) for n in range(9)] + [entry(f"e{n}") for n in range(50)]
    board = queue_state(active=others, queued=waiting)
    assert refusal(a_trigger("t9", "clock"), a_card(), board) is None
    found = refusal(a_trigger("t10", "clock"), a_card(), board)
    assert found is not None
    assert found.message == "0 executions run and 10 wait, which is all this robot's quota allows"


@pytest.mark.parametrize("fields", [{"robot_status": "paused"}, {"robot_status": "maintenance"}])
def test_an_event_waits_for_a_robot_that_is_not_active(fields: dict[str, Any]) -> None:  # DEC-45, DEC-48
    board = QueueState()
    assert refusal(a_trigger(type="event"), a_card(**fields), board) is None
    assert pick(board, pool=POOL, now=NOON, stopped={(TEAM, MEMBER)}) == []
    assert [each.type for each in pick(board, pool=POOL, now=NOON)] == ["event"]


def test_words_without_an_action_are_an_instruction() -> None:  # TG-04
    words = {"input": {"messages": [{"content": "Stop all"}]}}
    allowed = {"triggers": {"intervene": {"actions": ["instruct"]}}}
    others = {"triggers": {"intervene": {"actions": ["task.cancel"]}}}
    assert refusal(a_trigger(type="human", **words), a_card(config=allowed)) is None
    found = refusal(a_trigger(type="human", **words), a_card(config=others))
    assert found == Refusal(RejectReason.ACTION_NOT_ALLOWED, "expected one of the actions task.cancel, not instruct")


def test_the_team_with_the_fewest_running_goes_first() -> None:  # SC-11
    running = [
        entry("r1", team="busy", member="x"),
        entry("r2", team="calm", member="x"),
        entry("r3", team="busy", member="y"),
    ]
    queued = [
        entry("b", team="busy", priority=10),
        entry("c", team="calm", priority=1),
        entry("n", team="new", priority=1),
    ]
    assert picked(queued, active=running) == ["n", "c", "b"]


def test_teams_take_turns() -> None:  # SC-11
    queued = [entry(f"{team}{n}", team=team, max_running=9) for team in ("a", "b") for n in range(3)]
    assert picked(queued, pool=4) == ["a0", "b0", "a1", "b1"]


def test_the_higher_priority_goes_first() -> None:  # SC-10 SC-11
    queued = [entry(str(priority), priority=priority, max_running=99) for priority in (5, 1, 10, 7)]
    assert picked(queued) == ["10", "7", "5", "1"]


def test_a_person_goes_before_an_event_and_an_event_before_the_clock() -> None:
    queued = [entry(kind, type=TriggerType(kind), max_running=9) for kind in ("clock", "event", "human")]
    assert picked(queued) == ["human", "event", "clock"]


def test_among_equals_the_oldest_goes_first() -> None:
    queued = [entry(str(n), queued_at=NOON - timedelta(seconds=n), member=f"m{n}") for n in (1, 3, 2)]
    assert picked(queued) == ["3", "2", "1"]


@pytest.mark.parametrize(("waited", "first"), [(3.9, "new"), (4.1, "old")])
def test_waiting_is_worth_priority(waited: float, first: str) -> None:
    old = entry("old", priority=3, queued_at=NOON - waited * AGE_PER_PRIORITY)
    assert picked([entry("new", priority=7), old])[0] == first


@pytest.mark.parametrize(("waited", "first"), [(STARVING_AFTER - MINUTE / 60, "new"), (STARVING_AFTER, "old")])
def test_an_entry_that_waited_too_long_goes_first(waited: timedelta, first: str) -> None:
    running = [entry(f"r{n}", team="busy", member=f"m{n}") for n in range(4)]
    old = entry("old", team="busy", priority=1, type=TriggerType.CLOCK, queued_at=NOON - waited)
    new = entry("new", team="calm", priority=10, type=TriggerType.HUMAN)
    assert picked([new, old], active=running)[0] == first


def test_a_team_with_its_share_of_the_slots_gains_nothing_by_having_waited() -> None:  # F20
    running = [entry(f"r{n}", team="flood", member=f"m{n}") for n in range(9)]
    queued = [entry(f"w{n}", team="flood", member=f"n{n}", queued_at=NOON - 2 * STARVING_AFTER) for n in range(50)]
    assert picked([*queued, entry("new", team="calm", type=TriggerType.CLOCK, priority=1)], active=running) == ["new"]


def test_a_robot_at_its_quota_waits_and_lets_others_pass() -> None:  # SC-10
    queued = [entry("mine", priority=10), entry("theirs", member="bob", priority=1)]
    assert picked(queued, active=[entry("r1"), entry("r2")]) == ["theirs"]


def test_a_full_pool_admits_nothing() -> None:  # SC-09
    running = [entry(f"r{n}", member=f"m{n}") for n in range(10)]
    assert picked([entry("a")], active=running, pool=10) == []
    assert picked([entry("a"), entry("b")], active=running, pool=11) == ["a"]


def test_an_empty_queue_admits_nothing() -> None:
    assert picked([]) == []


@pytest.mark.parametrize("seed", range(40))
def test_neither_quota_nor_pool_is_ever_exceeded_and_no_free_slot_is_wasted(seed: int) -> None:  # SC-09 SC-10
    random = Random(seed)
    pool = random.randint(1, 12)
    quotas = {f"m{n}": random.randint(1, 4) for n in range(5)}
    on, now, serial, admitted = QueueState(), NOON, 0, set[str]()
    for _ in range(60):
        for _ in range(random.randint(0, 4)):
            member, serial = random.choice(sorted(quotas)), serial + 1
            fields: dict[str, Any] = {
                "member": member,
                "max_running": quotas[member],
                "priority": random.randint(1, 10),
            }
            made = entry(f"e{serial}", team=f"team-{member[-1] in '01'}", queued_at=now, **fields)
            on.put(replace(made, type=random.choice(list(TriggerType))), EntryState.QUEUED)
        for chosen in pick(on, pool=pool, now=now):
            on.admit(chosen.execution_id, now)
            assert chosen.execution_id not in admitted
            admitted.add(chosen.execution_id)
        running = Counter(each.member for each in on.active.values())
        assert len(on.active) <= pool
        assert [member for member, count in running.items() if count > quotas[member]] == []
        could = [each for each in on.queued.values() if running[each.member] < each.max_running]
        assert len(on.active) == pool or not could
        for done in random.sample(sorted(on.active), random.randint(0, len(on.active))):
            on.remove(done)
        now += timedelta(seconds=random.randint(0, 90))


@pytest.mark.parametrize("seed", range(5))
def test_nothing_starves(seed: int) -> None:
    random, on, now = Random(seed), QueueState(), NOON
    poor = entry("poor", team="busy", priority=1, type=TriggerType.CLOCK)
    on.put(poor, EntryState.QUEUED)
    for minute in range(12):
        for number in range(20):  # more than the pool, all of them better, of ever new teams
            name = f"{minute}-{number}"
            rich = entry(name, team=f"t{name}", priority=10, type=TriggerType.HUMAN, queued_at=now)
            on.put(rich, EntryState.QUEUED)
        for chosen in pick(on, pool=5, now=now):
            on.admit(chosen.execution_id, now)
        if "poor" in on.active:
            break
        for done in random.sample(sorted(on.active), 4):
            on.remove(done)
        now += MINUTE
    assert "poor" in on.active
    assert now - NOON <= STARVING_AFTER


def test_a_removed_entry_is_nowhere_in_the_queue_state() -> None:
    on = queue_state(queued=[entry("a")], active=[entry("b"), entry("c")])
    for name in ("a", "b", "stranger"):
        on.remove(name)
    assert on == queue_state(active=[entry("c")])
