"""Events that come again, at any replica and after any restart: one run, and the stored answer (TG-31, DEC-6)."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import httpx

from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.stores.mongo import Mongo
from rota_common.testing.bus import stored
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import EXECUTION_REQUESTED
from tests.integration.gateway.harness import LEAD, Gateway, error_of, gateway, messages, settings
from tests.integration.scheduler.harness import Harness

REPLICAS, POSTS = 4, 1000


async def replicas(ends: AsyncExitStack, acme: Gateway, mongo_url: str, prefix: str) -> list[Gateway]:
    """Three more of it."""
    given = settings(acme.nats_url, mongo_url, prefix)
    return [acme, *[await ends.enter_async_context(gateway(given)) for _ in range(REPLICAS - 1)]]


async def test_a_thousand_posts_of_one_event_at_four_replicas_are_one_execution(
    acme: Gateway, mongo_url: str, mongo_prefix: str
) -> None:  # F6
    async with AsyncExitStack() as ends:
        harness = await ends.enter_async_context(Harness(acme.nats_url, mongo_url, mongo_prefix).open())
        await ends.enter_async_context(harness.scheduler())
        gateways = await replicas(ends, acme, mongo_url, mongo_prefix)
        answers = await asyncio.gather(*(gateways[number % REPLICAS].post() for number in range(POSTS)))
        assert Counter(answer.status_code for answer in answers) == {202: 1, 200: POSTS - 1}
        assert len({answer.text for answer in answers}) == 1
        [trigger] = answers[0].json()["triggers"]
        await harness.requests.received(1)
        async with asyncio.timeout(PATIENCE_S):
            while await messages(acme.nats_url):
                await asyncio.sleep(0.05)
        requested = await stored(acme.nats_url, EXECUTION_REQUESTED)
        assert [event.data.execution_id for event in requested] == [trigger["execution_id"]]
        await repeats(acme, POSTS - 1)


async def repeats(gateway: Gateway, count: int) -> None:
    """Wait until every replica has written how often it saw the event again, and it comes to `count`."""
    path = "/v1/teams/acme/events/leads/evt_1"
    async with asyncio.timeout(PATIENCE_S):
        while (read := (await gateway.call("GET", path)).json())["repeats"] < count:
            await asyncio.sleep(0.05)
    assert read["repeats"] == count


async def test_a_restart_between_two_posts_changes_nothing(
    nats: EmbeddedServer, mongo_url: str, mongo_prefix: str
) -> None:
    given = settings(nats.url, mongo_url, mongo_prefix)
    async with gateway(given) as before:
        before.key = await before.make_team()
        await before.make_source()
        await before.make_robot()
        first = await before.post()  # and it ends at once: what waits to be written is written
    await nats.kill()
    await nats.start()
    async with gateway(given) as after:
        after.key = before.key
        await after.make_robot("second")
        again = await after.post()
        assert (first.status_code, again.status_code) == (202, 200)
        assert again.text == first.text
        assert error_of(await after.post(LEAD | {"data": {}})) == (409, "event_id_reused")
        assert len((await after.post(event_id="evt_2")).json()["triggers"]) == 2
    assert await messages(nats.url) == 3


async def test_another_body_under_the_same_id_is_refused_at_every_replica(
    acme: Gateway, mongo_url: str, mongo_prefix: str
) -> None:  # DEC-6
    async with AsyncExitStack() as ends:
        gateways = await replicas(ends, acme, mongo_url, mongo_prefix)
        bodies = [LEAD | {"data": {"number": number % 2}} for number in range(100)]
        answers = await asyncio.gather(*(gateways[n % REPLICAS].post(body) for n, body in enumerate(bodies)))
    counts = Counter(answer.status_code for answer in answers)
    assert counts == {202: 1, 200: 49, 409: 50}
    taken = {number % 2 for number, answer in enumerate(answers) if answer.status_code != 409}
    assert len(taken) == 1
    assert await messages(acme.nats_url) == 1


async def test_an_event_that_was_stored_when_its_gateway_was_killed_is_answered_alike(
    acme: Gateway, mongo_url: str, mongo_prefix: str
) -> None:
    async with gateway(settings(acme.nats_url, mongo_url, mongo_prefix)) as killed:
        first = await killed.post()
    database = Mongo(mongo_url, f"{mongo_prefix}_gateway")
    await database.database["inbound"].delete_many({})  # as if it had not come so far
    await database.close()
    again = await acme.post()
    assert (first.status_code, again.status_code) == (202, 200)
    assert again.text == first.text
    assert error_of(await acme.post({"other": "body"})) == (409, "event_id_reused")  # it is on record again
    assert await messages(acme.nats_url) == 1


async def test_posts_of_one_event_while_it_cannot_be_stored_all_fail_together(
    acme: Gateway, nats: EmbeddedServer
) -> None:
    nats.pause()
    try:
        async with asyncio.timeout(8):  # one publish gives up after 5 s; in turn they would take 100
            answers: list[httpx.Response] = await asyncio.gather(*(acme.post() for _ in range(20)))
    finally:
        nats.resume()
    assert {error_of(answer) for answer in answers} == {(503, "unavailable")}
