"""The facts of a robot's failures, across a crash (TG-18)."""

import asyncio
from typing import Any

from rota_common.testing.bus import short_ack_wait, stored
from rota_common.testing.crash import crash
from rota_contracts import catalog
from rota_contracts.ids import execution_id
from tests.integration.scheduler.clock_harness import (
    Held,
    published,
)
from tests.integration.scheduler.harness import Harness


async def test_an_unpublished_failure_is_published_once_by_the_successor(harness: Harness) -> None:  # TG-18 F3
    await short_ack_wait(harness.nats_url, "scheduler")
    first = await harness.start()
    publishing = Held(first.service, catalog.ROBOT_FAILED)
    await harness.trigger("t1")
    await harness.slots(1)
    await harness.finished("t1", status="failed")
    await publishing.reached.wait()
    await crash(first.service)
    async with harness.scheduler():
        (fact,) = await published(harness, catalog.ROBOT_FAILED, 1)
    assert fact.execution_id == execution_id("t1")


async def test_a_failure_redelivered_after_a_crash_is_the_same_fact(harness: Harness) -> None:  # TG-18 F3
    await short_ack_wait(harness.nats_url, "scheduler")
    first = await harness.start()
    await harness.trigger("t1")
    await harness.slots(1)
    publish: Any = first.service.bus.jetstream.publish
    gone = asyncio.Event()

    async def publish_and_block(subject: str, *args: Any, **given: Any) -> Any:
        answer = await publish(subject, *args, **given)
        if subject.startswith(catalog.ROBOT_FAILED.type):
            gone.set()
            await asyncio.Event().wait()
        return answer

    first.service.bus.jetstream.publish = publish_and_block
    await harness.finished("t1", status="failed")
    await gone.wait()
    await crash(first.service)
    async with harness.scheduler() as second:
        while await unsettled(second.service.bus.jetstream):
            await asyncio.sleep(0.05)
    assert len(await stored(harness.nats_url, catalog.ROBOT_FAILED)) == 1


async def unsettled(jetstream: Any) -> bool:
    """Is there an end of a run that no scheduler has dealt with?"""
    info = await jetstream.consumer_info("EXECUTIONS", catalog.EXECUTION_FINISHED.durable("scheduler"))
    return bool(info.num_pending or info.num_ack_pending)
