"""Deliveries of the delivery-center alone: results per second, the feed's lag, and the cost of one dead target to the
others. Executor and receivers are stand-ins in this process."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any
from uuid import uuid4

import httpx
import nats
from motor.motor_asyncio import AsyncIOMotorClient
from nats.aio.msg import Msg

from bench.polling import until
from bench.receiver import DEAD, Receiver, receiver
from bench.system import TEAM
from rota_common.bus.router import Router
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Document
from rota_common.testing.processes import Processes
from rota_contracts.catalog import DELIVERY_COMPLETED, DELIVERY_REQUESTED, MAY_DELIVER, READ_SECRETS
from rota_contracts.envelope import parse_event
from rota_contracts.messages.delivery import (
    DeliveryContent,
    DeliveryContext,
    DeliveryPermission,
    DeliveryRequestedV1,
    Permission,
)
from rota_contracts.messages.secrets import SecretsReply, SecretValue
from rota_contracts.messages.text import Text
from rota_contracts.messages.trigger import TriggerType
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

CENTER = "delivery-center"
ROBOTS = 10
AT_ONCE = 64
SECRET = "whsec_" + "QmVuY2htYXJrcyBzaWduIHdpdGggdGhpcyBzZWNyZXQ="
Say = Callable[[str], None]


class Center:
    """A delivery-center as a process, with stand-ins for the services that it asks."""

    def __init__(self, folder: Path, server: EmbeddedServer, mongo: EmbeddedServer, receiver: Receiver) -> None:
        settings = {"ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8"}
        self.processes = Processes(folder, nats_url=server.url, mongo_url=mongo.url, settings=settings)
        self.receiver, self._nats_url = receiver, server.url
        self.completed: dict[str, float] = {}
        self.lags: list[float] = []
        self._executor = Service("executor", server.url)
        router = Router()
        router.answer(MAY_DELIVER, self._may_deliver)
        self._executor.include(router)
        self._gateway = Service("trigger-gateway", server.url)
        router = Router()
        router.answer(READ_SECRETS, self._read_secrets)
        self._gateway.include(router)

    async def start(self) -> None:
        await self._executor.start()
        await self._executor.started.wait()
        await self._gateway.start()
        await self._gateway.started.wait()
        self._client = await nats.connect(self._nats_url)
        await self._client.subscribe(DELIVERY_COMPLETED.subject(TEAM, "*"), cb=self._on_completed)
        await self.robots([f"/r/{number}" for number in range(ROBOTS)])
        await self.processes.start(CENTER)
        await self.processes.ready(CENTER)

    async def stop(self) -> None:
        await self.processes.stop_all()
        await self._executor.stop(2)
        await self._gateway.stop(2)
        await self._client.close()

    async def robots(self, paths: Sequence[str]) -> None:
        """One robot for each path of the receiver, named by its index."""
        bucket = await self._client.jetstream().key_value(ROBOTS_BUCKET)
        for number, path in enumerate(paths):
            opts = {"url": self.receiver.url(path), "secret": "$ENV.BENCH_HOOK_SECRET"}
            config = {"identity": {"role": "Bench"}, "delivery": {"type": "webhook", "opts": opts}}
            given = {"member_id": f"r{number}", "team_id": TEAM, "robot_config": config}
            await bucket.put(f"{TEAM}.r{number}", Robot.model_validate(given).model_dump_json().encode())

    async def request(self, member: str) -> tuple[str, float]:
        """Request a delivery; returns its id and the instant of the request."""
        name, began = str(uuid4()), perf_counter()
        context = DeliveryContext(
            member_id=member, team_id=TEAM, execution_id=str(uuid4()), trigger_type=TriggerType.EVENT
        )
        content = DeliveryContent(summary="A lead was scored.", body=Text(inline="# Score\n\n" + "x" * 600))
        asked = DeliveryRequestedV1(team_id=TEAM, member_id=member, request_id=name, content=content, context=context)
        await self._executor.publish(DELIVERY_REQUESTED, asked, caused_by=name)
        return name, began

    async def all_completed(self, names: Sequence[str]) -> None:
        """Return once each of these deliveries has been said to be completed."""

        async def done() -> bool:
            return all(name in self.completed for name in names)

        await until(done, patience=120, look=0.005)

    async def _may_deliver(self, _: Any) -> DeliveryPermission:
        return DeliveryPermission(leave=Permission.ALLOW)

    async def _read_secrets(self, _: Any) -> SecretsReply:
        return SecretsReply(secrets=[SecretValue(name="BENCH_HOOK_SECRET", value=SECRET)])

    async def _on_completed(self, message: Msg) -> None:
        came = datetime.now(UTC)  # finer than the facts' own clock, which counts whole milliseconds
        event = parse_event(DELIVERY_COMPLETED.payload, message.headers, message.data, expected=DELIVERY_COMPLETED.type)
        self.completed[event.data.request_id] = perf_counter()
        self.lags.append((came - event.time).total_seconds() * 1000)


async def rate(center: Center, count: int) -> float:
    """Deliveries a second, as many at once as it takes."""
    began, members = perf_counter(), cycle(f"r{number}" for number in range(ROBOTS))
    asked = [await center.request(next(members)) for _ in range(count)]
    await center.all_completed([name for name, _ in asked])
    return count / (perf_counter() - began)


async def floor_rate(nats_url: str, mongo_url: str, to: Receiver, count: int) -> float:
    """The same by hand: a POST over a connection of its own, one majority insert, three facts."""
    client = await nats.connect(nats_url)
    mongo: AsyncIOMotorClient[Document] = AsyncIOMotorClient(mongo_url, w="majority")
    jetstream, free = client.jetstream(), asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)

    async def one(http: httpx.AsyncClient) -> None:
        async with free:
            body = {"data": {"request_id": str(uuid4()), "body": "x" * 600}}
            await http.post(to.url("/floor"), json=body)
            await mongo["bench_floor"]["deliveries"].insert_one({"body": body})
            for step in ("attempted", "completed", "settled"):
                await jetstream.publish(f"rota.v1.delivery.{step}.floor.floor", b"x" * 800, stream="DELIVERIES")

    async with httpx.AsyncClient(trust_env=False, limits=limits) as http:
        began = perf_counter()
        await asyncio.gather(*(one(http) for _ in range(count)))
        seconds = perf_counter() - began
    mongo.close()
    await client.close()
    return count / seconds


async def steady(center: Center, *, seconds: float, each_s: float, members: Sequence[str]) -> dict[str, float]:
    """Ask at a steady pace, by turns for each of these robots; request id → when it was asked for."""
    turns, asked = cycle(members), dict[str, float]()
    until, next_at = perf_counter() + seconds, perf_counter()
    while perf_counter() < until:
        name, began = await center.request(next(turns))
        asked[name] = began
        next_at += each_s
        await asyncio.sleep(max(0.0, next_at - perf_counter()))
    return asked


async def measure(
    folder: Path, server: EmbeddedServer, mongo: EmbeddedServer, *, rounds: int, count: int, say: Say
) -> list[dict[str, Any]]:
    """The rows `deliveries_per_second`, `feed_lag_p50`, `feed_lag_p99` and `dead_target_slowdown`."""
    async with receiver() as to:
        center = Center(folder, server, mongo, to)
        try:
            await center.start()
            await rate(center, count // 4)  # warm up
            seen: dict[str, list[float]] = {"floor": [], "rota": []}
            for number in range(1, rounds + 1):
                seen["floor"].append(await floor_rate(server.url, mongo.url, to, count))
                seen["rota"].append(await rate(center, count))
                say(
                    f"deliveries, round {number} of {rounds}: "
                    + ", ".join(f"{k} {v[-1]:.0f}/s" for k, v in seen.items())
                )
            lags = await _lags(center)
            slowed = await _slowdown(center, rounds, say)
        finally:
            await center.stop()
    floor, rota = median(seen["floor"]), median(seen["rota"])
    row = {"name": "deliveries_per_second", "value": round(rota, 1), "unit": "1/s", "floor": round(floor, 1)}
    return [row | {"ratio": round(rota / floor, 3)}, *lags, slowed]


async def _lags(center: Center) -> list[dict[str, Any]]:
    """From the instant in a fact's header to a subscriber who has it, at 40 deliveries a second."""
    center.lags.clear()
    asked = await steady(center, seconds=10, each_s=0.025, members=[f"r{number}" for number in range(ROBOTS)])
    await center.all_completed(list(asked))
    hundredths = quantiles(center.lags, n=100)
    rows = (("feed_lag_p50", hundredths[49]), ("feed_lag_p99", hundredths[98]))
    return [{"name": name, "value": round(value, 2), "unit": "ms", "per_second": 40} for name, value in rows]


async def _slowdown(center: Center, rounds: int, say: Say) -> dict[str, Any]:
    """How much later the others get their webhooks while one of five targets never answers, by turns with all well."""
    well, others = [f"/s/{number}" for number in range(5)], [f"r{number}" for number in range(4)]
    seen: dict[str, list[float]] = {"well": [], "dead": []}
    for number in range(1, rounds + 1):
        for kind, last in (("well", well[4]), ("dead", f"{DEAD}/{number}")):
            await center.robots([*well[:4], last])
            asked = await steady(center, seconds=12, each_s=0.025, members=[*others, "r4"])
            theirs = [name for place, name in enumerate(asked) if place % 5 != 4]
            await center.all_completed(theirs)
            waits = [(center.receiver.got[name] - asked[name]) * 1000 for name in theirs]
            seen[kind].append(median(waits))
            p99 = quantiles(waits, n=100)[98]
            say(f"{kind}, round {number} of {rounds}: p50 {median(waits):.2f} ms, p99 {p99:.1f} ms")
            center.receiver.hang_up()
    base, slow = median(seen["well"]), median(seen["dead"])
    row = {"name": "dead_target_slowdown", "value": round((slow / base - 1) * 100, 2), "unit": "%"}
    return row | {"p50_ms_well": round(base, 2), "p50_ms_dead": round(slow, 2)}
