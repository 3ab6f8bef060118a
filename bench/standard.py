"""Standard mode: five process tasks that return at once, each journaled before the next, then a signed POST to a sink.

The plan is the scripted planner's; learning is off. It is the work that durable-execution engines are compared by.
"""

import asyncio
import hashlib
import json
from collections import defaultdict
from time import time
from typing import Any

import nats
from nats.aio.msg import Msg
from nats.micro import add_service
from nats.micro.request import Request

from bench.sink import Sink
from bench.system import TEAM, System
from rota_contracts.catalog import EXECUTION_FINISHED, process_subject

STEPS = 5
SOURCE, PROCESS = "steps", "bench.step"
EVENT = {"type": "steps.wanted", "data": {"tasks": STEPS, "process": PROCESS}}
ENDED_S = 60


class Standard:
    """Runs in standard mode on a system whose planner is `bench.planner` and that may send to loopback."""

    def __init__(self, system: System, nats_url: str, sink: Sink) -> None:
        self._system, self._nats_url = system, nats_url
        self._sink = sink
        self._ended: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self._status: dict[str, str] = {}

    async def start(self) -> None:
        """Make the source and the robot, and answer the process, once the system has started."""
        await self._system.create(SOURCE, _robot(self._sink.url))
        await self.connect()

    async def connect(self) -> None:
        self._client = await nats.connect(self._nats_url)
        await self._client.subscribe(EXECUTION_FINISHED.subject(TEAM, "*"), cb=self._on_finished)
        service = await add_service(self._client, name="bench", version="1.0.0")
        await service.add_endpoint(name="step", subject=process_subject(TEAM, PROCESS), handler=_step)

    async def stop(self) -> None:
        if hasattr(self, "_client"):
            await self._client.close()

    async def once(self) -> float:
        """Seconds from the post to the sink's 2xx. Returns when the run is over too."""
        name, began = await self.run()
        return await self._sink.reached(name) - began

    async def run(self) -> tuple[str, float]:
        """The execution and the instant of its post, once it is over."""
        began = time()
        name = await self._system.post(SOURCE, EVENT)
        await asyncio.wait_for(self._ended[name].wait(), ENDED_S)
        del self._ended[name]
        if (status := self._status.pop(name)) != "completed":
            raise RuntimeError(f"expected execution {name} to complete, it is {status}")
        return name, began

    async def _on_finished(self, message: Msg) -> None:
        finished = json.loads(message.data)
        self._status[finished["execution_id"]] = finished["status"]
        self._ended[finished["execution_id"]].set()


async def _step(request: Request) -> None:
    """Stands for one step of a model or tool: a little CPU."""
    call = json.loads(request.data)
    digest = hashlib.sha256(f"{call['args']}:{call['execution_id']}".encode()).hexdigest()
    await request.respond(json.dumps({"digest": digest}).encode())


def _robot(sink: str) -> dict[str, Any]:
    return {
        "member_id": "stepper",
        "robot_config": {
            "identity": {"role": "Stepper", "duties": ["Do the steps"]},
            "quota": {"max": 1000, "queue": 100_000},
            "resources": {
                "agents": ["stepper"],
                "phases": {"tasks": "bench.planner"},
                "processes": [{"name": PROCESS, "idempotent": True}],
            },
            "events": [{"type": "webhook", "source": SOURCE}],
            "delivery": {"type": "webhook", "opts": {"url": sink, "secret": "$ENV.BENCH_OUT_SECRET"}},
            "learn": {"on": False},
        },
    }
