"""Hints: activities that may be lost go together, before the fact that ends them, and none is left at a stop."""

import asyncio

import pytest

from rota_common.bus.publishing import GATHERED, Publish
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.in_memory_stream import InMemoryMessage
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, NOON, TEAM
from rota_contracts.catalog import ACTIVITY, EXECUTION_STARTED
from rota_contracts.messages.activity import ActivityKind, ActivityV1
from rota_contracts.messages.execution import ExecutionStartedV1


class Seen:
    """The subjects of what is published, in their order."""

    def __init__(self, bus: InMemoryBus) -> None:
        self.kinds: list[str] = []
        bus.serve(ACTIVITY.pattern, self._note)
        bus.serve(EXECUTION_STARTED.pattern, self._note)

    async def _note(self, message: InMemoryMessage) -> None:
        self.kinds.append(message.subject.split(".")[2])


@pytest.fixture
def bus() -> InMemoryBus:
    return InMemoryBus()


@pytest.fixture
def seen(bus: InMemoryBus) -> Seen:
    return Seen(bus)


@pytest.fixture
def publish(bus: InMemoryBus) -> Publish:
    return Publish(bus.connection("executor"), source="executor", clock=lambda: NOON)


async def hint(publish: Publish, count: int = 1) -> None:
    owner = {"team_id": TEAM, "member_id": MEMBER, "execution_id": "e1"}
    activity = ActivityV1(**owner, kind=ActivityKind.PHASE_STARTED, phase="goals", at=NOON)
    for _ in range(count):
        await publish.hint(ACTIVITY, activity)


async def test_hints_wait_for_each_other(publish: Publish, seen: Seen) -> None:
    await hint(publish, 3)
    assert seen.kinds == []
    async with asyncio.timeout(PATIENCE_S):
        while len(seen.kinds) < 3:
            await asyncio.sleep(0.005)
    assert seen.kinds == ["activity"] * 3


async def test_a_fact_takes_the_hints_before_it_along(publish: Publish, seen: Seen) -> None:
    await hint(publish, 2)
    fact = ExecutionStartedV1(team_id=TEAM, member_id=MEMBER, execution_id="e1", started_at=NOON)
    await publish(EXECUTION_STARTED, fact, caused_by="e1")
    assert seen.kinds == ["activity", "activity", "execution"]


async def test_a_flood_of_hints_does_not_wait(publish: Publish, seen: Seen) -> None:
    await hint(publish, GATHERED)
    assert len(seen.kinds) == GATHERED


async def test_a_stopped_service_has_sent_its_hints(bus: InMemoryBus, seen: Seen) -> None:
    service = Service("executor", "", runtime=Runtime(bus=bus))
    await service.start()
    await service.started.wait()
    await hint(service.publish)
    await service.stop()
    assert seen.kinds == ["activity"]
