"""The floor: a bare loop of four publishes with their consumes and six majority writes. No service of ours in it.

Whatever Rota does for one execution, it can't take less than this on the same machine in the same minute.
"""

import asyncio
from collections.abc import Coroutine
from time import perf_counter
from uuid import uuid4

import nats
from motor.motor_asyncio import AsyncIOMotorClient
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig

from rota_common.stores.mongo import Document

WRITES = (2, 2, 1, 1)
"""Majority writes at each of the four stages."""

BODY = b'{"lead": {"name": "John Smith", "company": "BigCorp"}, "padding": "%s"}' % (b"x" * 600)


class Floor:
    """Four stages on one stream; each takes a message, writes, publishes the next and acknowledges."""

    def __init__(self, nats_url: str, mongo_url: str) -> None:
        self._nats_url = nats_url
        self._mongo: AsyncIOMotorClient[Document] = AsyncIOMotorClient(mongo_url, w="majority")
        self._documents = self._mongo["bench_floor"]["documents"]
        self._done: dict[str, asyncio.Future[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._client = await nats.connect(self._nats_url)
        self._jetstream = self._client.jetstream()
        subjects = StreamConfig(name="FLOOR", subjects=["floor.>"], retention=RetentionPolicy.WORK_QUEUE)
        await self._jetstream.add_stream(subjects)
        for stage in range(len(WRITES)):
            config = ConsumerConfig(durable_name=f"stage{stage}", filter_subject=f"floor.{stage}")
            await self._jetstream.add_consumer("FLOOR", config)
            self._keep(self._pull(stage))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.close()
        self._mongo.close()

    async def once(self) -> float:
        """Seconds from the first publish to the last acknowledgement."""
        name, started = uuid4().hex, perf_counter()
        done = self._done[name] = asyncio.get_running_loop().create_future()
        await self._publish(0, name)
        await done
        return perf_counter() - started

    async def _pull(self, stage: int) -> None:
        source = await self._jetstream.pull_subscribe_bind(durable=f"stage{stage}", stream="FLOOR")
        while True:
            try:
                (message,) = await source.fetch(1, timeout=5)
            except TimeoutError:
                continue
            self._keep(self._handle(stage, message))

    async def _handle(self, stage: int, message: Msg) -> None:
        name = (message.headers or {})["name"]
        for number in range(WRITES[stage]):
            key = {"_id": f"{name}:{stage}:{number}"}
            await self._documents.update_one(key, {"$set": {"body": message.data.decode()}}, upsert=True)
        if stage + 1 < len(WRITES):
            await self._publish(stage + 1, name)
        await message.ack_sync()
        if stage + 1 == len(WRITES):
            self._done.pop(name).set_result(None)

    async def _publish(self, stage: int, name: str) -> None:
        headers = {"Nats-Msg-Id": f"{name}:{stage}", "name": name}
        await self._jetstream.publish(f"floor.{stage}", BODY, headers=headers, timeout=5)

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
