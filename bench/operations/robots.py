"""The cost of robots that do nothing: memory of the services, bytes of the stores."""

import asyncio
import json
import time
from typing import Any

from bench.operations.arithmetic import MIB, growth
from bench.operations.storage import sizes
from rota.client import Api
from tests.containers.harness import World, aside, robot

TEAM, AT_ONCE = "many", 8
CLOCK = {"mode": "interval", "every": "24h"}


async def robots(world: World, number: int, settle: float) -> dict[str, Any]:
    """So many robots of a team of their own, each with a clock that isn't due before tomorrow."""
    memory, stored, began = await aside(world.project.memory), await sizes(world.project), time.monotonic()
    definitions = [_definition(each) for each in range(number)]
    async with Api(world.project.gateway, TEAM, key=world.project.admin_key) as api:
        await api.create_team(TEAM)
        left = iter(definitions)

        async def create() -> None:
            for definition in left:
                await api.create_robot(definition)

        await asyncio.gather(*(create() for _ in range(AT_ONCE)))
    seconds = time.monotonic() - began
    await asyncio.sleep(settle)
    after = await aside(world.project.memory)
    return {
        "robots": number,
        "definition_bytes": len(json.dumps(definitions[0])),
        "create_s": seconds,
        "memory_bytes": growth(memory, after, number / MIB),
        "stored_bytes": growth(stored, await sizes(world.project), number),
    }


def _definition(number: int) -> dict[str, Any]:
    made = robot(f"many.{number}", "https://crm.example.com/results")
    made["robot_config"] |= {"clock": CLOCK, "triggers": {"clock": {"enabled": True}, "event": {"enabled": True}}}
    return made
