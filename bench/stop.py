"""The time that a stop takes: eight executors, executions in the middle of their work, counted by the model and the
process they call. `python -m bench.stop` prints the p99 from the request to the last call that began after it."""

import argparse
import asyncio
import json
import secrets
import socket
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import httpx
import nats
from nats.micro import add_service
from nats.micro.request import Request as ProcessRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bench.result_file import keep
from rota_common import topology
from rota_common.runtime import embedded_http
from rota_common.runtime.embedded_servers import mongod, nats_server
from rota_common.testing.processes import Processes
from rota_contracts.catalog import process_subject

TEAM, MEMBER, PROCESS = "bench", "worker", "count"
EXECUTORS = 8
TURN_S = 0.05
SETTLED_S = 3.0
"""After a stop: late calls come by then."""

TASKS = 40
KEY = secrets.token_hex(16)
WORK = {"type": "human", "messages": [{"role": "user", "content": "Work."}]}
ADMIN = {"Authorization": f"Bearer {KEY}"}


@dataclass
class Outside:
    """The external systems that executions reach: the last call for each execution, by this machine's clock."""

    began: dict[str, float] = field(default_factory=dict)
    delivered: set[str] = field(default_factory=set)
    at_work: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def called(self, execution_id: str) -> None:
        self.began[execution_id] = monotonic()
        self.at_work[execution_id].set()

    async def model(self, request: Request) -> Response:
        """Plans many tasks, of which every second is the process's, and takes a while to do one."""
        asked = await request.json()
        facts = asked["facts"]
        self.called(facts["execution_id"])
        if asked["kind"] == "tasks":
            return JSONResponse({"text": json.dumps({"tasks": [_task(number) for number in range(TASKS)]})})
        if asked["kind"] == "goals":
            return JSONResponse({"text": json.dumps({"content": "1. Work."})})
        await asyncio.sleep(TURN_S)
        content = {"summary": "Done.", "body": "# Done"}
        return JSONResponse({"text": json.dumps({"status": "done", "content": content})})

    async def hook(self, request: Request) -> Response:
        self.delivered.add((await request.json())["data"]["context"]["execution_id"])
        return Response(status_code=204)

    async def process(self, asked: ProcessRequest) -> None:
        self.called(json.loads(asked.data)["execution_id"])
        await asked.respond(b'{"counted": true}')


def _task(number: int) -> dict[str, Any]:
    if number % 2:
        return {"description": f"Task {number}", "executor_type": "process", "executor_id": PROCESS}
    return {"description": f"Task {number}", "executor_type": "assistant", "executor_id": "worker"}


def _robot(hook: str) -> dict[str, Any]:
    return {
        "member_id": MEMBER,
        "robot_config": {
            "identity": {"role": "Worker"},
            "quota": {"max": 100, "queue": 1000},
            "resources": {"agents": ["worker"], "processes": [{"name": PROCESS}]},
            "delivery": {"type": "webhook", "opts": {"url": hook}},
            "learn": {"on": False},
        },
    }


async def measure(stops: int, in_flight: int, seed: int) -> dict[str, Any]:
    """A row: p99 in seconds over `stops` executions, stopped at random points of their work."""
    outside, random = Outside(), Random(seed)
    routes = [Route("/model", outside.model, methods=["POST"]), Route("/hook", outside.hook, methods=["POST"])]
    with tempfile.TemporaryDirectory(prefix="rota-stop-") as name, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url, folder = f"http://127.0.0.1:{listener.getsockname()[1]}", Path(name)
        server, mongo = nats_server(folder / "nats"), mongod(folder / "mongo")
        await asyncio.gather(server.start(), mongo.start())
        await topology.apply_to(server.url)
        services = _services(folder, server.url, mongo.url, url)
        client = await nats.connect(server.url)
        try:
            async with embedded_http.serve(Starlette(routes=routes), listener, lifespan="off", close_timeout=1):
                counting = await add_service(client, name="count", version="1.0.0")
                await counting.add_endpoint(
                    name="count", subject=process_subject(TEAM, PROCESS), handler=outside.process
                )
                await services.start_all()
                seconds = await _stop_all(services.gateway, f"{url}/hook", outside, stops, in_flight, random)
        finally:
            await services.stop_all()
            await client.close()
            await asyncio.gather(server.stop(), mongo.stop())
    p99 = sorted(seconds)[max(0, -(-len(seconds) * 99 // 100) - 1)]
    row = {"name": "stop_p99", "value": round(p99, 3), "unit": "s", "stops": len(seconds), "executors": EXECUTORS}
    return row | {"max": round(max(seconds), 3), "delivered_after_stop": len(outside.delivered)}


def _services(folder: Path, nats_url: str, mongo_url: str, outside: str) -> Processes:
    connectors = folder / "connectors"
    connectors.mkdir()
    (connectors / "outside.yaml").write_text(
        f"label: Outside\nteams: '*'\ntype: rehearsal\noptions: {{host: '{outside}/model'}}\n"
    )
    settings = {
        "ROTA_ADMIN_KEY": KEY,
        "ROTA_CONNECTOR": "outside",
        "ROTA_CONNECTORS_DIR": str(connectors),
        "ROTA_POOL": "1000",
        "ROTA_ALLOW_PRIVATE_TARGETS": "127.0.0.0/8",
    }
    return Processes(
        folder, nats_url=nats_url, mongo_url=mongo_url, settings=settings, replicas={"executor": EXECUTORS}
    )


async def _stop_all(
    gateway: str, hook: str, outside: Outside, stops: int, in_flight: int, random: Random
) -> list[float]:
    """Seconds from each request to stop until the last call that began for its execution."""
    async with httpx.AsyncClient(trust_env=False, base_url=gateway, headers=ADMIN, timeout=30) as client:
        await _post(client, "/v1/teams", {"team_id": TEAM})
        await _post(client, f"/v1/teams/{TEAM}/robots", _robot(hook))
        free = asyncio.Semaphore(in_flight)

        async def one(wait: float) -> float:
            async with free:
                return await _stop_one(client, outside, wait)

        waits = [random.uniform(0.2, 1.5) for _ in range(stops)]
        return list(await asyncio.gather(*(one(wait) for wait in waits)))


async def _stop_one(client: httpx.AsyncClient, outside: Outside, wait: float) -> float:
    begun = await _post(client, f"/v1/teams/{TEAM}/robots/{MEMBER}/trigger", WORK)
    execution = begun["execution_id"]
    await asyncio.wait_for(outside.at_work[execution].wait(), 60)
    await asyncio.sleep(wait)
    asked_at = monotonic()
    await _post(client, f"/v1/teams/{TEAM}/executions/{execution}/stop", {})
    await asyncio.sleep(SETTLED_S)
    read = (await client.get(f"/v1/teams/{TEAM}/executions/{execution}")).json()
    if read["status"] != "cancelled":
        raise RuntimeError(f"expected {execution} to be cancelled {SETTLED_S} s after its stop, it is {read['status']}")
    return max(0.0, outside.began[execution] - asked_at)


async def _post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    if answer.status_code not in (200, 201, 202):
        raise RuntimeError(f"{path}: expected 2xx, got {answer.status_code}: {answer.text}")
    made: dict[str, Any] = answer.json()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.stop", description=__doc__)
    parser.add_argument("--stops", type=int, default=200, help="executions to stop (default 200)")
    parser.add_argument("--in-flight", type=int, default=8, help="executions under way at once (default 8)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    row = asyncio.run(measure(given.stops, given.in_flight, given.seed))
    keep([row])
    print(json.dumps(row))


if __name__ == "__main__":
    main()
