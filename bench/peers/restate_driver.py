"""Restate's load: triggers over its HTTP ingress. `python -m bench.peers.restate_driver URL`"""

import asyncio
import sys
from time import time
from uuid import uuid4

import httpx

from bench.peers.work import Load, drive, report


async def main(ingress: str) -> None:
    load = Load.given()
    limits = httpx.Limits(max_connections=2 * load.in_flight)
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:

        async def once() -> tuple[str, float]:
            name, began = uuid4().hex, time()
            answer = await client.post(f"{ingress}/Run/{name}/run", json=name)
            answer.raise_for_status()
            return name, began

        report(await drive(once, load))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
