"""Two versions of one service on one bus: what only the newer one can read waits for it, and is never buried."""

import asyncio
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest
from pydantic import BaseModel

from rota_common.bus.router import Router
from rota_common.errors import Permanent
from rota_common.runtime.service import Runtime, Service
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import MEMBER, TEAM
from rota_contracts import catalog
from rota_contracts.envelope import Event
from rota_contracts.model import Payload


class OldStatus(StrEnum):
    COMPLETED = "completed"


class NewStatus(StrEnum):
    COMPLETED = "completed"
    HIBERNATING = "hibernating"


class OldFinished(Payload):
    execution_id: str
    status: OldStatus


class NewFinished(Payload):
    execution_id: str
    status: NewStatus
    dreams: tuple[str, ...] = ()


CHANNEL: Any = replace(catalog.EXECUTION_FINISHED, payload=NewFinished)


class Version:
    """A replica of the scheduler that knows messages of one version."""

    def __init__(self, bus: InMemoryBus, payload: type[Payload], stored: type[BaseModel] | None = None) -> None:
        self.handled: list[Any] = []
        self.service = Service("scheduler", "", runtime=Runtime(bus=bus))
        self._stored = stored
        router = Router()
        router.on(replace(CHANNEL, payload=payload), self._handle)
        self.service.include(router)

    async def _handle(self, event: Event[Any]) -> None:
        if self._stored is not None:
            self._stored.model_validate({"mode": "newer"})
        self.handled.append(event.data)

    async def __aenter__(self) -> "Version":
        await self.service.start()
        await self.service.started.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.service.stop(1)


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.bus.failure_policy.RETRY_CAP_S", 0.01)


def a_fact(status: NewStatus = NewStatus.HIBERNATING) -> NewFinished:
    return NewFinished(team_id=TEAM, member_id=MEMBER, execution_id="e1", status=status, dreams=("sheep",))


async def tried(bus: InMemoryBus, times: int) -> None:
    """Return once the message was returned as often as that."""
    pending = bus.consumers[CHANNEL.durable("scheduler")]
    async with asyncio.timeout(PATIENCE_S):
        while not any(each.deliveries > times for each in (*pending._waiting, *pending._in_hand.values())):
            await asyncio.sleep(0)


async def test_an_enum_value_of_a_newer_version_waits_for_a_newer_reader() -> None:
    bus = InMemoryBus()
    async with Version(bus, OldFinished) as old:
        await bus.publish(CHANNEL, a_fact(), caused_by="c1")
        await tried(bus, 20)
        async with Version(bus, NewFinished) as new:
            await bus.settled()
        assert (new.handled, old.handled, bus.dead) == ([a_fact()], [], [])


async def test_a_field_of_a_newer_version_stops_no_older_reader() -> None:
    bus = InMemoryBus()
    async with Version(bus, OldFinished) as old:
        await bus.publish(CHANNEL, a_fact(NewStatus.COMPLETED), caused_by="c1")
        await bus.settled()
    assert [each.status for each in old.handled] == [OldStatus.COMPLETED]


async def test_a_message_whose_handler_can_not_read_what_is_stored_waits_for_one_that_can() -> None:
    class OldMode(StrEnum):
        STANDARD = "standard"

    class OldRobot(BaseModel):
        mode: OldMode

    bus = InMemoryBus()
    async with Version(bus, NewFinished, stored=OldRobot) as old:
        await bus.publish(CHANNEL, a_fact(), caused_by="c1")
        await tried(bus, 20)
        async with Version(bus, NewFinished) as new:
            await bus.settled()
        assert (len(new.handled), old.handled, bus.dead) == (1, [], [])


async def test_what_no_version_has_ever_sent_is_buried_at_once() -> None:
    bus = InMemoryBus()
    headers = {"ce-id": "x", "ce-type": CHANNEL.type, "ce-source": "x", "ce-time": "2026-03-02T09:14:07Z"}
    async with Version(bus, NewFinished):
        await bus.store(CHANNEL.subject(TEAM, MEMBER), b"no json", headers)
        await bus.store(CHANNEL.subject(TEAM, MEMBER), b"{}", {})
        await bus.settled()
    assert len(bus.dead) == 2


async def test_a_handler_that_hangs_is_ended_and_its_message_handed_back() -> None:
    bus, calls = InMemoryBus(), 0

    async def hangs_once(_: Event[Any]) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            await asyncio.Event().wait()

    service = Service("scheduler", "", runtime=Runtime(bus=bus), handling_limit=0.05)
    router = Router()
    router.on(CHANNEL, hangs_once)
    service.include(router)
    await service.start()
    await service.started.wait()
    await bus.publish(CHANNEL, a_fact(NewStatus.COMPLETED), caused_by="c1")
    await bus.settled()
    await service.stop(1)
    assert (calls, bus.dead) == (2, [])


async def test_permanent_stays_permanent_for_a_message_that_was_read() -> None:
    bus = InMemoryBus()

    async def refuse(_: Event[Any]) -> None:
        raise Permanent("no such robot")

    service = Service("scheduler", "", runtime=Runtime(bus=bus))
    router = Router()
    router.on(CHANNEL, refuse)
    service.include(router)
    await service.start()
    await service.started.wait()
    await bus.publish(CHANNEL, a_fact(NewStatus.COMPLETED), caused_by="c1")
    await bus.settled()
    await service.stop(1)
    assert len(bus.dead) == 1
