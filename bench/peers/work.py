"""The work that every peer does, and how it is driven: five steps, a signed POST; one after another, then many at once.

It runs in the peers' environment too, so it imports nothing of Rota.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from functools import cache
from time import time
from typing import Self

import httpx

STEPS = 5
KEY = b"a key of the benchmark's own"
LOAD, SINK = "BENCH_LOAD", "BENCH_SINK"
"""Environment variables of the peers' processes."""

Begun = dict[str, float]
"""Name of a run → the instant of its trigger."""

Once = Callable[[], Awaitable[tuple[str, float]]]
"""One run, from its trigger until it is over: its name, and the instant of the trigger."""


@dataclass(frozen=True)
class Load:
    """Runs of one round: to warm up, one after another, and with `in_flight` under way."""

    warm_up: int
    one_by_one: int
    at_once: int
    in_flight: int

    @classmethod
    def given(cls) -> Self:
        return cls(**json.loads(os.environ[LOAD]))

    def environ(self) -> dict[str, str]:
        return {LOAD: json.dumps(asdict(self))}


@dataclass(frozen=True)
class Driven:
    one_by_one: Begun
    at_once: Begun


async def drive(once: Once, load: Load) -> Driven:
    await _many(once, load.warm_up, load.in_flight)
    return Driven(await _many(once, load.one_by_one, 1), await _many(once, load.at_once, load.in_flight))


async def _many(once: Once, count: int, flight: int) -> Begun:
    begun, left = dict[str, float](), iter(range(count))

    async def worker() -> None:
        for _ in left:
            name, at = await once()
            begun[name] = at

    await asyncio.gather(*(worker() for _ in range(flight)))
    return begun


def report(driven: Driven) -> None:
    """The last line of a peer's driver."""
    sys.stdout.write(json.dumps(asdict(driven)) + "\n")


def step(number: int, before: str) -> str:
    """Stands for one step of a model or tool: a little CPU."""
    return hashlib.sha256(f"{number}:{before}".encode()).hexdigest()


async def deliver(name: str, result: str) -> str:
    """POST the result with the headers of Standard Webhooks, over kept connections."""
    body, at = json.dumps({"name": name, "result": result}), str(int(time()))
    made = hmac.new(KEY, f"{name}.{at}.{body}".encode(), hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(made).decode()
    headers = {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": signature}
    answer = await _client().post(os.environ[SINK], content=body, headers=headers)
    answer.raise_for_status()
    return "delivered"


@cache
def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(trust_env=False, limits=httpx.Limits(max_connections=100))
