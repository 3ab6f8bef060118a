"""The cost of robots that do nothing: memory of the services, bytes of the stores."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from bench.operations.arithmetic import MIB, growth
from bench.operations.storage import sizes
from rota.client import Api
from tests.containers.harness import World, aside, robot

TEAM, AT_ONCE = "many", 8
CLOCK = {"mode": "interval", "every": "24h"}


async def robots(world: World, number: int, settle: float) -> dict[str, Any]:
    """So many robots of a team of their own, each with a clock that isn't due before tomorrow. The first tenth isn't
    counted: with it the services allocate what they need for any number."""
    definitions = [_definition(each) for each in range(number)]
    uncounted, counted = definitions[: number // 10], definitions[number // 10 :]
    async with Api(world.project.gateway, TEAM, key=world.project.admin_key) as api:
        await api.create_team(TEAM)
        await _create(api, uncounted)
        memory, stored, began = await aside(world.project.memory), await sizes(world.project), time.monotonic()
        await _create(api, counted)
        seconds = time.monotonic() - began
    await asyncio.sleep(settle)
    after = await aside(world.project.memory)
    return {
        "robots": len(counted),
        "definition_bytes": len(json.dumps(counted[0])),
        "create_s": seconds,
        "memory_bytes": growth(memory, after, len(counted) / MIB),
        "stored_bytes": growth(stored, await sizes(world.project), len(counted)),
    }


async def _create(api: Api, definitions: Sequence[dict[str, Any]]) -> None:
    left = iter(definitions)

    async def create() -> None:
        for definition in left:
            await api.create_robot(definition)

    await asyncio.gather(*(create() for _ in range(AT_ONCE)))


def _definition(number: int) -> dict[str, Any]:
    made = robot(f"many.{number}", "https://crm.example.com/results")
    made["robot_config"] |= {"clock": CLOCK, "triggers": {"clock": {"enabled": True}, "event": {"enabled": True}}}
    return made
