"""The executors' reports to the scheduler: alive, with capacity, and the states of granted slots."""

import json

from rota_common.testing.bus import Listener
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.executor_capacity import ExecutorReportedV1
from tests.integration.executor.harness import Harness


async def test_an_executor_reports_its_capacity_at_once_and_none_when_it_stops(system: Harness) -> None:
    published = await Listener.to(system.nats_url, catalog.EXECUTOR_REPORTED.pattern)
    async with system.executor(capacity=7):
        (first, *_) = await published.received(1)
        await published.received(2)
    messages = await published.until(lambda report: report["capacity"] == 0)
    await published.close()
    assert first.subject == "rota.v1.executor.reported._all_._all_"
    reports = [ExecutorReportedV1.model_validate(json.loads(message.data)) for message in messages]
    assert len({report.executor_id for report in reports}) == 1
    assert [report.capacity for report in reports] == [*[7] * (len(reports) - 1), 0]


async def test_each_replica_reports_itself(system: Harness) -> None:
    published = await Listener.to(system.nats_url, catalog.EXECUTOR_REPORTED.pattern)
    async with system.executor(), system.executor():
        await published.distinct(2, lambda report: str(report["executor_id"]))
    await published.close()


async def test_any_replica_answers_for_the_slots_of_all_executions(system: Harness) -> None:  # SC-10
    async with system.executor(), system.executor():
        await system.request("e1")
        await system.over("e1")
        system.silent = {"validator", "delivery-center"}
        await system.request("e2")
        await system.ignored.get()
        for _ in range(4):
            done, running, unknown = await system.slots("e1", "e2", "e3")
            assert (done.execution_id, done.status, done.error) == ("e1", ExecStatus.COMPLETED, None)
            assert (running.status, running.parks, running.granted) == (ExecStatus.RUNNING, 0, 0)
            assert (unknown.execution_id, unknown.status) == ("e3", None)
        await system.control("pause", "e2")
        await system.until(lambda execution: execution.status is ExecStatus.PAUSED, "e2")
        (paused,) = await system.slots("e2")
        assert (paused.status, paused.parks, paused.granted) == (ExecStatus.PAUSED, 1, 0)
