"""The queue in metrics: by what waits, and only from the replica that dispatches."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any, cast

from prometheus_client import REGISTRY

from rota_common.testing.samples import NOON
from rota_contracts.messages.trigger import TriggerType
from scheduler.dispatching.measure_queue import MeasureQueue
from scheduler.domain.queue import Entry, QueueState
from scheduler.domain.robot_summary import Key
from scheduler.ports import Robots


def one(name: str, *, member: str, minutes: int, **fields: Any) -> Entry:
    given = {"execution_id": name, "team": "a", "member": member, "type": TriggerType.EVENT, "priority": 5}
    return Entry(**{**given, "max_running": 1, "queued_at": NOON - timedelta(minutes=minutes), **fields})


class SomePaused:
    async def stopped(self, keys: Collection[Key]) -> set[Key]:
        return {("a", "paused")} & set(keys)


def shown(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_the_oldest_is_shown_by_what_it_waits_for_and_a_standby_says_none() -> None:
    waiting = [
        one("new", member="free", minutes=1),
        one("old", member="free", minutes=7),
        one("of a busy robot", member="busy", minutes=20),
        one("of a paused robot", member="paused", minutes=30),
        one("that has begun, of the same", member="paused", minutes=4, parks=1),
    ]
    queue_state: QueueState | None = QueueState(
        queued={each.execution_id: each for each in waiting}, active={"runs": one("runs", member="busy", minutes=9)}
    )
    measure = MeasureQueue(
        queue_state=lambda: queue_state,
        slots=lambda: 10,
        robots=cast(Robots, SomePaused()),
        clock=lambda: NOON,
    )
    await measure()
    assert shown("rota_queue_oldest_seconds", waits_for="slot") == 7 * 60
    assert shown("rota_queue_oldest_seconds", waits_for="robot") == 30 * 60
    assert shown("rota_queue_executions", state="queued") == 5
    assert shown("rota_dispatching") == 1
    queue_state = None
    await measure()
    assert [shown("rota_queue_oldest_seconds", waits_for=each) for each in ("slot", "robot")] == [0, 0]
    assert [shown("rota_queue_executions", state=each) for each in ("queued", "active", "parked")] == [0, 0, 0]
    assert shown("rota_dispatching") == 0
