"""What the scheduler is told by the executors: who is alive, how much they take, what became of the slots it gave."""

import json

from rota_common.testing.bus import Listener
from rota_contracts import catalog
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.executor_capacity import ExecutorReportedV1
from tests.integration.executor.world import World


async def test_an_executor_says_at_once_how_much_it_takes_and_nothing_when_it_stops(world: World) -> None:
    heard = await Listener.to(world.nats_url, catalog.EXECUTOR_REPORTED.pattern)
    async with world.executor(capacity=7):
        (first, *_) = await heard.heard(1)
        await heard.heard(2)
    messages = await heard.heard(3)
    await heard.close()
    assert first.subject == "rota.v1.executor.reported._all_._all_"
    reports = [ExecutorReportedV1.model_validate(json.loads(message.data)) for message in messages]
    assert len({report.executor_id for report in reports}) == 1
    assert [report.capacity for report in reports] == [*[7] * (len(reports) - 1), 0]


async def test_each_replica_speaks_for_itself(world: World) -> None:
    heard = await Listener.to(world.nats_url, catalog.EXECUTOR_REPORTED.pattern)
    async with world.executor(), world.executor():
        messages = await heard.heard(2)
        await heard.close()
    reports = [ExecutorReportedV1.model_validate(json.loads(message.data)) for message in messages[:2]]
    assert len({report.executor_id for report in reports}) == 2


async def test_any_replica_tells_what_became_of_the_executions_that_hold_slots(world: World) -> None:  # SC-10
    async with world.executor(), world.executor():
        await world.request("e1")
        await world.over("e1")
        world.silent = {"validator", "delivery-center"}
        await world.request("e2")
        await world.ignored.get()
        for _ in range(4):
            done, running, nobody = await world.slots("e1", "e2", "e3")
            assert (done.execution_id, done.status, done.error) == ("e1", ExecStatus.COMPLETED, None)
            assert (running.status, running.parks, running.granted) == (ExecStatus.RUNNING, 0, 0)
            assert (nobody.execution_id, nobody.status) == ("e3", None)
        await world.control("pause", "e2")
        await world.until(lambda execution: execution.status is ExecStatus.PAUSED, "e2")
        (paused,) = await world.slots("e2")
        assert (paused.status, paused.parks, paused.granted) == (ExecStatus.PAUSED, 1, 0)
