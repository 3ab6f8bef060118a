"""An executor says that it is alive, and how much it can take (capacity of the pool)."""

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError

from executor.heartbeat import Heartbeat
from executor.settings import Settings
from rota_common.testing.samples import NOON, SetClock
from rota_contracts import catalog
from rota_contracts.messages.executor_capacity import ExecutorReportedV1


class Published:
    """What was published; `enough` is set with the second report."""

    def __init__(self) -> None:
        self.reports, self.enough = list[ExecutorReportedV1](), asyncio.Event()

    async def observe(self, channel: Any, report: ExecutorReportedV1) -> None:
        assert channel is catalog.EXECUTOR_REPORTED
        self.reports.append(report)
        if len(self.reports) == 2:
            self.enough.set()


def reporting(heard: Published) -> Heartbeat:
    publish: Any = heard
    return Heartbeat(publish, SetClock(), executor_id="executor-1", capacity=7)


async def test_it_is_said_at_once_and_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executor.heartbeat.REPORT_S", 0.01)
    heard = Published()
    loop = asyncio.create_task(reporting(heard).run())
    await asyncio.sleep(0)
    assert heard.reports == [
        ExecutorReportedV1(team_id="_all_", member_id="_all_", executor_id="executor-1", capacity=7, at=NOON)
    ]
    await asyncio.wait_for(heard.enough.wait(), 5)
    loop.cancel()
    assert heard.reports[0] == heard.reports[1]


async def test_one_that_stops_takes_nothing_from_then_on() -> None:
    heard = Published()
    report = reporting(heard)
    await report.stop()
    assert heard.reports == []  # nobody has heard of it
    loop = asyncio.create_task(report.run())
    await asyncio.sleep(0)
    loop.cancel()
    await report.stop()
    assert [(each.executor_id, each.capacity) for each in heard.reports] == [("executor-1", 7), ("executor-1", 0)]


def test_how_much_it_takes_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().capacity == 100
    monkeypatch.setenv("ROTA_CAPACITY", "12")
    assert Settings().capacity == 12
    monkeypatch.setenv("ROTA_CAPACITY", "0")
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Settings()
