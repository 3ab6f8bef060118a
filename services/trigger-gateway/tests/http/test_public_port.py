"""The public port: nothing for strangers to learn, and no body that never ends."""

import asyncio
from typing import Any

import httpx
from starlette.applications import Starlette

from rota_common.runtime.serving import health_routes
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.version import VERSION

from .asgi import request
from .harness import ADMIN, TEAM, Gateway, error_of, gateway, settings

HOST = "db-7.internal.example:27017"


def break_a_part(of: Gateway) -> None:
    async def broken() -> None:
        raise ConnectionError(f"{HOST}: connection refused, user rota")

    of.app.service.probe("mongo", broken)


async def test_a_stranger_learns_whether_it_is_ready_and_a_key_learns_why_not(empty: Gateway) -> None:
    break_a_part(empty)
    asked = {key: await empty.call("GET", "/health/ready", key=key) for key in ("", "rota_a_b", empty.key, ADMIN)}
    assert {answer.status_code for answer in asked.values()} == {503}
    bare = {"service": "trigger-gateway", "ready": False}
    reasons = bare | {"version": VERSION, "problems": {"mongo": "ConnectionError"}}
    assert [answer.json() for answer in asked.values()] == [bare, bare, reasons, reasons]


async def test_metrics_are_the_administrators(empty: Gateway) -> None:
    statuses = {key: (await empty.call("GET", "/metrics", key=key)).status_code for key in ("", empty.key, ADMIN)}
    assert list(statuses.values()) == [401, 403, 200]


async def test_the_internal_port_shows_reasons_by_their_kind(empty: Gateway) -> None:
    break_a_part(empty)
    internal = httpx.ASGITransport(Starlette(routes=health_routes(empty.app.service)))
    async with httpx.AsyncClient(transport=internal, base_url="http://pod") as http:
        answer = await http.get("/health/ready")
        assert (answer.status_code, answer.json()["problems"]) == (503, {"mongo": "ConnectionError"})
        assert (await http.get("/metrics")).status_code == 200


async def test_strangers_look_at_the_dependencies_once_a_second_together(empty: Gateway) -> None:
    looks = 0

    async def look() -> None:
        nonlocal looks
        looks += 1

    empty.app.service.probe("counted", look)
    await asyncio.gather(*(empty.http.get("/health/ready") for _ in range(20)))
    assert looks == 1


async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async with gateway(settings(body_timeout=0.05)) as quick:
        quick.key = await quick.make_team()
        for path in ("/v1/hooks/acme/leads", f"{TEAM}/robots", f"{TEAM}/attachments"):
            first = [{"type": "http.request", "body": b"{", "more_body": True}]

            async def receive(left: list[dict[str, Any]] = first) -> dict[str, Any]:
                return left.pop() if left else await asyncio.Future()

            headers, query = {"content-type": "application/json"}, {"name": "a"}
            async with asyncio.timeout(PATIENCE_S):
                sent = await request(quick, "POST", path, receive, headers=headers, query=query)
            assert sent[0]["status"] == 408, path
        assert error_of(await quick.call("GET", f"{TEAM}/robots/none")) == (404, "robot_not_found")
