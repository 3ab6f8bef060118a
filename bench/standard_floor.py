"""The floor of standard mode: the same work by hand, without a service of ours.

A message on a stream, consumed; five requests over NATS, each with a majority write after it; a POST with a signature's
headers over a kept connection; a write; the acknowledgement.
"""

import asyncio
import json
from collections.abc import Coroutine
from time import time
from uuid import uuid4

import nats
from motor.motor_asyncio import AsyncIOMotorClient
from nats.aio.msg import Msg
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig

from bench.floor import BODY
from bench.http import Connection
from bench.sink import Sink
from bench.standard import STEPS
from bench.system import signed
from rota_common.stores.mongo import Document

STREAM, SUBJECT, STEP, DURABLE = "STEPS", "steps.wanted", "steps.step", "steps"


class StandardFloor:
    """`once` takes as long as the sink's 2xx takes, as with `Standard`."""

    def __init__(self, nats_url: str, mongo_url: str, sink: Sink) -> None:
        self._nats_url, self._sink = nats_url, sink
        self._mongo: AsyncIOMotorClient[Document] = AsyncIOMotorClient(mongo_url, w="majority")
        self._documents = self._mongo["bench_floor"]["steps"]
        self._ended: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: list[Connection] = []

    async def start(self) -> None:
        self._client = await nats.connect(self._nats_url)
        self._jetstream = self._client.jetstream()
        config = StreamConfig(name=STREAM, subjects=[SUBJECT], retention=RetentionPolicy.WORK_QUEUE)
        await self._jetstream.add_stream(config)
        await self._jetstream.add_consumer(STREAM, ConsumerConfig(durable_name=DURABLE))
        await self._client.subscribe(STEP, cb=_step)
        self._keep(self._pull())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._idle:
            connection.close()
        if hasattr(self, "_client"):
            await self._client.close()
        self._mongo.close()

    async def once(self) -> float:
        """Seconds from the publish to the sink's 2xx. Returns when the message is acknowledged too."""
        name, began = uuid4().hex, time()
        self._ended[name] = asyncio.Event()
        await self._jetstream.publish(SUBJECT, BODY, headers={"name": name}, stream=STREAM, timeout=5)
        await asyncio.wait_for(self._ended[name].wait(), 60)
        return await self._sink.reached(name) - began

    async def _pull(self) -> None:
        source = await self._jetstream.pull_subscribe_bind(durable=DURABLE, stream=STREAM)
        while True:
            try:
                (message,) = await source.fetch(1, timeout=5)
            except TimeoutError:
                continue
            self._keep(self._handle((message.headers or {})["name"], message))

    async def _handle(self, name: str, message: Msg) -> None:
        for number in range(STEPS):
            answer = await self._client.request(STEP, message.data, timeout=5)
            await self._write(f"{name}:{number}", answer.data)
        body = json.dumps({"data": {"context": {"execution_id": name}, "body": "x" * 600}}).encode()
        connection = self._idle.pop() if self._idle else Connection("127.0.0.1", self._sink.port)
        await connection.post("/", body, signed(body))
        self._idle.append(connection)
        await self._write(name, body)
        await message.ack_sync()
        self._ended.pop(name).set()

    async def _write(self, key: str, body: bytes) -> None:
        await self._documents.update_one({"_id": key}, {"$set": {"body": body.decode()}}, upsert=True)

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _step(message: Msg) -> None:
    await message.respond(b'{"done": true}')
