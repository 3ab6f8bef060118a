"""The capacity: the pool, and never more than the executors alive can take (SC-09)."""

import pytest
from prometheus_client import REGISTRY

from rota_common.testing.samples import NOON
from rota_contracts.envelope import Event
from rota_contracts.messages.executor_capacity import ALIVE_S, REPORT_S, ExecutorReportedV1
from rota_contracts.model import ALL
from scheduler.dispatching.capacity import Capacity


class Time:
    """The seconds that have passed, and how often more capacity was signalled."""

    def __init__(self) -> None:
        self.seconds = 100.0
        self.signals = 0

    def signal(self) -> None:
        self.signals += 1


def report(capacity: int, executor: str = "e1") -> Event[ExecutorReportedV1]:
    data = ExecutorReportedV1(team_id=ALL, member_id=ALL, executor_id=executor, capacity=capacity, at=NOON)
    return Event(id="x", type="x", source="executor", time=NOON, data=data)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def capacity(time: Time) -> Capacity:
    return Capacity(pool=10, on_more=time.signal, elapsed=lambda: time.seconds)


def test_nothing_may_run_while_no_executor_is_alive(capacity: Capacity) -> None:
    assert capacity.slots() == 0


def test_what_all_executors_can_take_counts_up_to_the_pool(capacity: Capacity) -> None:
    seen = []
    for room, executor in ((3, "e1"), (4, "e2"), (9, "e3"), (1, "e3")):
        capacity.update(report(room, executor))
        seen.append(capacity.slots())
    assert seen == [3, 7, 10, 8]
    assert REGISTRY.get_sample_value("rota_capacity_executions") == 8


def test_an_executor_that_stops_or_falls_silent_counts_no_more(capacity: Capacity, time: Time) -> None:
    capacity.update(report(3, "e1"))
    capacity.update(report(4, "e2"))
    capacity.update(report(0, "e2"))
    assert capacity.slots() == 3
    time.seconds += ALIVE_S - 0.01
    assert capacity.slots() == 3
    time.seconds += 0.01
    assert capacity.slots() == 0


def test_an_executor_may_miss_some_of_its_reports() -> None:
    assert ALIVE_S > 3 * REPORT_S


def test_only_more_capacity_signals_those_that_wait(capacity: Capacity, time: Time) -> None:
    signalled = []
    for room in (3, 3, 2, 5, 5, 12, 15):
        before = time.signals
        capacity.update(report(room))
        signalled += [capacity.slots()] * (time.signals - before)
    assert signalled == [3, 5, 10]
    time.seconds += ALIVE_S
    capacity.update(report(2))
    assert time.signals == 4  # it was 0
