"""NATS or MongoDB away: 503 and a reason, nothing taken that could be lost, and back again by itself."""

import asyncio
from pathlib import Path
from time import monotonic
from typing import Any

import httpx

from rota_common.runtime.embedded_servers import EmbeddedServer, mongod
from rota_common.testing.patience import PATIENCE_S
from tests.integration.gateway.harness import ADMIN, Gateway, Scheduler, error_of, gateway, messages, robot, settings

ROBOTS = "rota.v1.robot.>"
INTERVENE = "/v1/teams/acme/robots/leader/intervene"
TASK: dict[str, Any] = {"action": "task.add", "messages": [{"role": "user", "content": "Prepare materials."}]}


def assert_unavailable(answer: httpx.Response) -> None:
    assert error_of(answer) == (503, "unavailable"), answer.text
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["error"]["message"]


async def until_ready(gateway: Gateway, status: int = 200) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await gateway.http.get("/health/ready")).status_code != status:
            await asyncio.sleep(0.05)


async def test_while_nats_is_away_nothing_is_taken(acme: Gateway, nats: EmbeddedServer) -> None:
    assert (await acme.http.get("/health/ready")).status_code == 200
    await nats.kill()
    async with asyncio.timeout(PATIENCE_S):
        while acme.app.service.bus.connected:
            await asyncio.sleep(0.01)
    begun = monotonic()
    assert_unavailable(await acme.post(event_id="evt_lost"))
    assert_unavailable(await acme.call("POST", INTERVENE, json=TASK))
    assert_unavailable(await acme.call("POST", "/v1/teams/acme/robots", json=robot("second")))
    assert_unavailable(await acme.call("PATCH", "/v1/teams/acme/robots/leader", json={"robot_status": "paused"}))
    assert_unavailable(await acme.call("DELETE", "/v1/teams/acme/robots/leader"))
    assert_unavailable(await acme.call("GET", "/v1/teams/acme/executions"))
    assert_unavailable(await acme.call("GET", "/v1/teams/acme/stream"))
    assert_unavailable(await acme.call("GET", "/v1/dead", key=ADMIN))
    assert monotonic() - begun < 2
    await until_ready(acme, 503)
    assert (await acme.http.get("/health/live")).status_code == 200
    listed = (await acme.call("GET", "/v1/teams/acme/robots")).json()["robots"]
    assert [(each["member_id"], each["rev"]) for each in listed] == [("leader", 1)]  # nothing was half done
    await nats.start()
    await until_ready(acme)
    assert await messages(nats.url) == 0
    answer = await acme.post(event_id="evt_lost")
    assert answer.status_code == 202
    assert await messages(nats.url) == 1


async def test_a_server_that_says_nothing_is_not_waited_for_for_ever(acme: Gateway, nats: EmbeddedServer) -> None:
    nats.pause()
    try:
        async with asyncio.timeout(8):
            answer, change = await asyncio.gather(
                acme.post(), acme.call("PATCH", "/v1/teams/acme/robots/leader", json={"robot_status": "paused"})
            )
    finally:
        nats.resume()
    assert_unavailable(answer)
    assert error_of(change) == (503, "stored_not_applied")
    assert (await acme.post()).status_code == 200  # it had been stored after all
    assert await messages(nats.url) == 1  # the same event, however often it was sent
    async with asyncio.timeout(PATIENCE_S):
        while (
            await acme.call("PATCH", "/v1/teams/acme/robots/leader", json={"robot_status": "paused"})
        ).status_code != 200:
            await asyncio.sleep(0.1)
    assert (await acme.call("GET", "/v1/teams/acme/robots/leader")).json()["rev"] == 2


async def test_while_mongodb_is_away_nothing_is_taken(nats: EmbeddedServer, tmp_path: Path) -> None:
    server = mongod(tmp_path / "mongo")
    await server.start()
    try:
        async with gateway(settings(nats.url, server.url, "away")) as acme:
            acme.key = await acme.make_team()
            await acme.make_source()
            await acme.make_robot()
            facts = await messages(nats.url, "FACTS", ROBOTS)
            await server.kill()
            calls: list[Any] = [
                acme.post(),
                acme.call("POST", INTERVENE, json=TASK),
                acme.call("POST", "/v1/teams/acme/robots", json=robot("second")),
                acme.call("GET", "/v1/teams/acme/robots"),
                acme.http.get("/health/ready"),
            ]
            *answers, ready = await asyncio.gather(*calls)
            for answer in answers:
                assert_unavailable(answer)
                assert "127.0.0.1" not in answer.text
            assert ready.status_code == 503
            assert await messages(nats.url) == 0
            assert await messages(nats.url, "FACTS", ROBOTS) == facts
            await server.start()
            await until_ready(acme)
            assert (await acme.post()).status_code == 202
            assert await messages(nats.url) == 1
    finally:
        await server.kill()


async def test_what_was_accepted_is_noted_when_mongodb_is_back(nats: EmbeddedServer, tmp_path: Path) -> None:
    server = mongod(tmp_path / "mongo")
    await server.start()
    try:
        async with gateway(settings(nats.url, server.url, "log")) as acme:
            acme.key = await acme.make_team()
            await acme.make_source()
            await acme.make_robot()
            posted = await acme.post()
            await server.kill()  # before the log was written
            assert posted.status_code == 202
            assert_unavailable(await acme.post(event_id="evt_2"))  # it may be a repeat
            assert await messages(nats.url) == 1
            await server.start()
            await until_ready(acme)
            async with asyncio.timeout(PATIENCE_S):
                while (answer := await acme.call("GET", "/v1/teams/acme/sources/leads/log")).status_code != 200:
                    await asyncio.sleep(0.05)
            assert [line["event_id"] for line in answer.json()["lines"]] == ["evt_1"]
    finally:
        await server.kill()


async def test_a_gateway_that_started_before_its_servers_waits_for_them(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    await nats.kill()
    opening = gateway(settings(nats.url, mongo_url, mongo_prefix))
    entering = asyncio.create_task(opening.__aenter__())
    await asyncio.sleep(0)
    assert not entering.done()
    await nats.start()
    async with asyncio.timeout(PATIENCE_S):
        opened = await entering
    assert (await opened.http.get("/health/ready")).status_code == 200
    await opening.__aexit__(None, None, None)


async def test_the_scheduler_hears_of_what_was_stored_while_it_was_away(acme: Gateway, nats: EmbeddedServer) -> None:
    posted = (await acme.post()).json()
    async with Scheduler(nats.url).running() as scheduler, asyncio.timeout(PATIENCE_S):
        while not scheduler.seen:
            await asyncio.sleep(0.01)
        assert scheduler.seen[0].trigger_id == posted["triggers"][0]["trigger_id"]
