"""A process: a program that a robot's tasks may call by name. Needs only `pip install "nats-py[nkeys]"`.

rota feed-clients add main crm-processes        # its key: a program of the team answers the team's processes
python process.py nats://127.0.0.1:4222 main crm-processes.nk
The robot names it: `robot_config.resources.processes: [{name: crm.greet, idempotent: true}]`.
"""

import asyncio
import json
import sys

import nats
from nats.micro import add_service
from nats.micro.request import Request


async def greet(request: Request) -> None:
    call = json.loads(request.data)
    # call["step_id"] is the same when a call is made again: a process that sends or books something remembers it.
    await request.respond(json.dumps({"greeting": f"Hello, {call['args'][0]['name']}!"}).encode())


async def main(url: str, team: str, key: str | None = None) -> None:
    client = await nats.connect(url, nkeys_seed=key, max_reconnect_attempts=-1)
    service = await add_service(client, name="crm", version="1.0.0")
    await service.add_endpoint(name="greet", subject=f"rota.v1.process.{team}.crm.greet", handler=greet)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
