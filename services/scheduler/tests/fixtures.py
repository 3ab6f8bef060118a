"""The whole scheduler over a bus and adapters in memory, with a gateway that triggers and an executor that reports."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App
from rota_common.testing.bus import Listener
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import a_robot
from rota_contracts.catalog import Channel
from rota_contracts.envelope import Event
from rota_contracts.robots.robot import Robot
from scheduler.adapters.in_memory import in_memory
from scheduler.adapters.in_memory_definitions import InMemoryDefinitions
from scheduler.app import build
from scheduler.settings import Settings
from tests.integration.scheduler.harness import Harness


class InMemoryListener(Listener):
    async def close(self) -> None: ...


class InMemoryHarness(Harness):
    def __init__(self, *, lease: float = 0.6) -> None:
        self.bus = InMemoryBus()
        self.adapters = in_memory(lease=lease)
        super().__init__("", "", "")

    def runtime(self, **given: Any) -> Runtime:
        return super().runtime(bus=self.bus, **given)

    def build(self, settings: Settings, runtime: Runtime) -> App:
        return build(settings, runtime=runtime, adapters=self.adapters)

    async def listen(self, channel: Channel[Any]) -> Listener:
        client: Any = self.bus.connection("test").client
        listener = InMemoryListener(client)
        await client.subscribe(channel.pattern, cb=listener._receive)
        return listener

    async def store(self, robot: Robot) -> None:
        assert isinstance(self.adapters.definitions, InMemoryDefinitions)
        self.adapters.definitions.put(robot)

    async def events(self, channel: Channel[Any]) -> list[Event[Any]]:
        return self.bus.facts(channel)

    async def end(self, service: Service) -> None:
        await service.stop(1)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    """One robot with the default quota: 2 run, 10 wait."""
    async with InMemoryHarness().open() as made:
        await made.keep(a_robot())
        yield made
