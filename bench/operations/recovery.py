"""A kill of each container under light load."""

import asyncio
import time
from typing import Any

from bench.operations.load import Poster, poster
from tests.containers.harness import World, aside
from tests.containers.project import LONG_RUNNING

RATE = 3.0
LOOK_S = 0.05
BEFORE_S = 5.0
"""Events that were posted so long before a kill may be in hand."""


async def recovery(world: World, results: int) -> dict[str, Any]:
    """Of each container that is killed, after so many results, and started again: seconds until it is healthy, until an
    event that is posted after the kill has its result, and the longest that an event around the kill waits."""
    sender, killed, found = poster(world, RATE), dict[str, float](), dict[str, dict[str, float]]()
    async with sender.posting():
        for name in LONG_RUNNING:
            await world.receiver.more(results)
            await aside(world.project.kill, name)
            killed[name] = time.monotonic()
            healthy = asyncio.create_task(_healthy(world, name))
            found[name] = {"result_s": await _next_result(world, sender, killed[name]), "healthy_s": await healthy}
        await world.receiver.more(results)
    await world.receiver.all_of(sender.executions.values())
    for name, at in killed.items():
        found[name]["longest_s"] = _longest(world, sender, at, at + found[name]["healthy_s"])
    runs = sender.executions.values()
    counts = {"repeated": len(world.receiver.repeated(runs)), "doubled": len(world.receiver.doubled(runs))}
    return {"rate": RATE, "accepted": len(sender.accepted), "completed": len(runs), **counts, "services": found}


async def _healthy(world: World, name: str) -> float:
    return float(await aside(world.project.start, name))


async def _next_result(world: World, sender: Poster, killed: float) -> float:
    """Seconds from the kill to the first result of an event that was posted after it."""
    while True:
        came = [
            world.receiver.at[one]
            for event, one in sender.executions.items()
            if sender.sent[event] >= killed and one in world.receiver.at
        ]
        if came:
            return min(came) - killed
        await asyncio.sleep(LOOK_S)


def _longest(world: World, sender: Poster, killed: float, healthy: float) -> float:
    return max(
        world.receiver.at[one] - sender.sent[event]
        for event, one in sender.executions.items()
        if killed - BEFORE_S <= sender.sent[event] <= healthy
    )
