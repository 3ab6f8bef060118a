"""Signed webhooks to the robots, and their signed results back: at a given rate, or as many as are held."""

import asyncio
import time
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bench.operations.arithmetic import grew, percentile, rate_within
from bench.operations.usage import watched
from tests.containers.harness import SOURCE, TEAM, TYPES, World
from tests.containers.outside import Sender

IN_FLIGHT = 40
"""What the quotas of the four robots let run at once."""

WARM_S = 10.0
"""In which the runs at once spread over their phases."""

LOOK_S = 1.0
NO_ROBOT = "lead.none"
"""A type of events that are accepted and start nothing."""


@dataclass
class Poster(Sender):
    """A sender of events, also of those that no robot listens to."""

    accepted: list[str] = field(default_factory=list)

    async def keep_in_flight(self, world: World, seconds: float) -> None:
        """So many runs at once for so long: the next event when a result is there."""
        until, numbers = time.monotonic() + seconds, count()

        async def one_after_another() -> None:
            while time.monotonic() < until:
                event = await self._until_accepted(client, next(numbers))
                await world.receiver.all_of([self.executions[event]])

        async with self._client() as client, asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(one_after_another())

    def waiting(self, world: World) -> int:
        """Accepted events without a result."""
        return len(set(self.executions.values()) - world.receiver.at.keys())

    def latencies(self, world: World) -> list[float]:
        """Seconds from the first post of an event to its result, of those that have one."""
        at = world.receiver.at
        return [at[one] - self.sent[event] for event, one in self.executions.items() if one in at]

    def _note(self, message_id: str, executions: list[str]) -> None:
        self.accepted.append(message_id)
        if executions:
            super()._note(message_id, executions)


def poster(world: World, rate: float, types: tuple[str, ...] = TYPES) -> Poster:
    return Poster(f"{world.project.gateway}/v1/hooks/{TEAM}/{SOURCE}", world.secret, rate, types)


async def highest(world: World, seconds: float) -> dict[str, Any]:
    """Results a second, with so many runs in flight that all parts always have work."""
    sender, before = poster(world, IN_FLIGHT), await failed(world)
    running = asyncio.create_task(sender.keep_in_flight(world, WARM_S + seconds))
    await asyncio.sleep(WARM_S)
    async with watched(world.project) as usage:
        since = time.monotonic()
        await asyncio.sleep(seconds)
    rate = rate_within([*world.receiver.at.values()], since, since + seconds)
    await running
    return {
        "rate": rate,
        "in_flight": IN_FLIGHT,
        "completed": round(rate * seconds),
        "failed": await failed(world) - before,
        **_latency(sender.latencies(world)),
        **usage.shown(),
    }


async def steady(world: World, rate: float, seconds: float, *, starting: float = 1.0) -> dict[str, Any]:
    """Events at this rate, whatever the system does; `starting`: the share that starts a run."""
    sender, before, waiting = poster(world, rate, types_of(starting)), await failed(world), list[int]()
    async with watched(world.project) as usage, sender.posting():
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(LOOK_S, left))
            waiting.append(sender.waiting(world))
    await _drained(sender, world)
    return {
        "rate": rate,
        "starting": starting,
        "posted": len(sender.sent),
        "accepted": len(sender.accepted),
        "sent_again": len(sender.errors),
        "completed": len(sender.executions),
        "failed": await failed(world) - before,
        "waiting_at_the_end": waiting[-1],
        "most_waiting": max(waiting),
        "grew": grew(waiting, rate),
        **_latency(sender.latencies(world)),
        **usage.shown(),
    }


async def _drained(sender: Poster, world: World) -> None:
    """Once all results are there, however long the queue has grown. TimeoutError when none comes any more."""
    left = sender.waiting(world)
    while left:
        try:
            await world.receiver.all_of(sender.executions.values())
        except TimeoutError:
            if sender.waiting(world) >= left:
                raise
        left = sender.waiting(world)


async def failed(world: World) -> int:
    """Executions of the team that have failed so far."""
    return int((await world.api.executions({"status": "failed", "page_size": 1}))["total"])


def _latency(seconds: list[float]) -> dict[str, float]:
    return {"p50_s": percentile(seconds, 0.5), "p99_s": percentile(seconds, 0.99)}


def types_of(starting: float) -> tuple[str, ...]:
    """By turns, so that this share of the events starts a run."""
    if starting >= 1:
        return TYPES
    parts = max(1, round(len(TYPES) / starting)) - len(TYPES)
    return (*TYPES, *[NO_ROBOT] * parts)
