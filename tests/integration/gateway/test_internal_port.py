"""The gateway's second port, which isn't public."""

import socket

import httpx
from fastapi import FastAPI

from rota_common.runtime.embedded_servers import EmbeddedServer
from tests.integration.gateway.harness import settings
from trigger_gateway.app import build


async def test_it_serves_health_and_metrics_alone(nats: EmbeddedServer, mongo_url: str, mongo_prefix: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = settings(nats.url, mongo_url, mongo_prefix, http_host="127.0.0.1", internal_port=port)
    app = build(given)
    assert isinstance(app.http, FastAPI)
    async with app.http.router.lifespan_context(app.http), httpx.AsyncClient(timeout=30) as http:
        await app.service.started.wait()
        answers = {path: await http.get(f"http://127.0.0.1:{port}{path}") for path in ("/metrics", "/v1/teams")}
        assert [answer.status_code for answer in answers.values()] == [200, 404]
        assert (await http.get(f"http://127.0.0.1:{port}/health/ready")).json()["problems"] == {}
