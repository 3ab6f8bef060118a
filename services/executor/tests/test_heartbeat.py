"""The heartbeat: an executor is alive, and has so much capacity."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from executor.adapters.in_memory import in_memory
from executor.agents.connectors import Connectors
from executor.agents.team_view import TeamViews
from executor.app import build
from executor.runs.heartbeat import Heartbeat
from executor.settings import Settings
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.samples import NOON, SetClock
from rota_contracts import catalog
from rota_contracts.messages.executor_capacity import ExecutorReportedV1

VIEWS = TeamViews(connectors=Connectors("rehearsal", environ={}))


class Published:
    def __init__(self) -> None:
        self.reports = list[ExecutorReportedV1]()

    async def observe(self, channel: Any, report: ExecutorReportedV1) -> None:
        assert channel is catalog.EXECUTOR_REPORTED
        self.reports.append(report)


def a_heartbeat(published: Published) -> Heartbeat:
    publish: Any = published
    return Heartbeat(publish=publish, clock=SetClock(), executor_id="executor-1", capacity=7, views=VIEWS)


async def test_a_heartbeat_names_the_executor_and_its_capacity() -> None:
    published = Published()
    await a_heartbeat(published)()
    assert published.reports == [
        ExecutorReportedV1(team_id="_all_", member_id="_all_", executor_id="executor-1", capacity=7, at=NOON)
    ]


async def test_it_is_published_at_once_and_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executor.app.REPORT_S", 0.01)
    bus, again = InMemoryBus(), asyncio.Event()
    capacities = list[int]()

    async def listen(message: Any) -> None:
        capacities.append(ExecutorReportedV1.model_validate_json(message.data).capacity)
        if len(capacities) == 2:
            again.set()

    bus.serve(catalog.EXECUTOR_REPORTED.pattern, listen)
    app = build(Settings(capacity=7), runtime=Runtime(bus=bus), adapters=in_memory())
    await app.service.start()
    await asyncio.wait_for(again.wait(), 5)
    await app.service.stop(1)
    assert (capacities[:2], capacities[-1]) == ([7, 7], 0)


async def test_an_executor_that_stops_reports_no_capacity() -> None:
    published = Published()
    heartbeat = a_heartbeat(published)
    await heartbeat.stop()
    assert published.reports == []  # it was never reported
    await heartbeat()
    await heartbeat.stop()
    assert [(each.executor_id, each.capacity) for each in published.reports] == [("executor-1", 7), ("executor-1", 0)]


def test_capacity_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().capacity == 100
    monkeypatch.setenv("ROTA_CAPACITY", "12")
    assert Settings().capacity == 12
    monkeypatch.setenv("ROTA_CAPACITY", "0")
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Settings()
