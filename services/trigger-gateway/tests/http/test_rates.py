"""Rate limits a minute, shared by all replicas (TG-28), and the order of the checks."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from rota_common.clock import now
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from trigger_gateway.adapters.in_memory import in_memory

from .harness import ENVIRON, HOOK, Gateway, error_of, gateway, settings

LIMIT, POSTS = 100, 300
SECOND = 17
FREE_AT = 80
"""What was accepted from :15 to :20 counts until then."""
FORGED = {"webhook-signature": "v1,AAAA"}


class Replicas:
    """Of one gateway; the team has one source and one robot."""

    def __init__(self, ends: AsyncExitStack) -> None:
        self._bus, self._ends = InMemoryBus(), ends
        self._adapters = in_memory(given=ENVIRON)
        # It stands still, or the minute could end in the middle of a test; and not since long: posts are signed now.
        self._at = now().replace(second=SECOND, microsecond=0)

    async def start(self, count: int = 1, **given: Any) -> list[Gateway]:
        made = []
        for _ in range(count):
            runtime = Runtime(bus=self._bus, clock=lambda: self._at)
            opening = gateway(settings(**given), bus=self._bus, runtime=runtime, adapters=self._adapters)
            made.append(await self._ends.enter_async_context(opening))
        made[0].key = await made[0].make_team()
        await made[0].make_robot()
        return made


@pytest.fixture
async def replicas() -> AsyncIterator[Replicas]:
    async with AsyncExitStack() as ends:
        yield Replicas(ends)


async def flood(gateways: list[Gateway], count: int, prefix: str = "evt", **how: Any) -> Counter[int]:
    """So many events, by turns at each replica; how often each status was the answer."""
    posts = (gateways[number % len(gateways)].post(event_id=f"{prefix}_{number}", **how) for number in range(count))
    return Counter(answer.status_code for answer in await asyncio.gather(*posts))


async def test_four_replicas_together_never_accept_more_than_the_limit_of_a_source(replicas: Replicas) -> None:
    gateways = await replicas.start(4)
    await gateways[0].make_source(rate_limit=LIMIT)
    answers = await flood(gateways, POSTS)
    assert set(answers) == {202, 429}
    assert 80 <= answers[202] <= LIMIT
    assert len(gateways[0].triggers()) == answers[202]
    refused = await gateways[0].post(event_id="one more")
    assert error_of(refused) == (429, "rate_limited")
    assert refused.headers["retry-after"] == str(FREE_AT - SECOND)


async def test_one_replica_accepts_exactly_the_limit(replicas: Replicas) -> None:
    [acme] = await replicas.start()
    await acme.make_source(rate_limit=LIMIT)
    statuses = [(await acme.post(event_id=f"evt_{number}")).status_code for number in range(LIMIT + 10)]
    assert statuses == [202] * LIMIT + [429] * 10


async def test_wrong_signatures_and_repeats_do_not_count_for_the_limit_of_a_source(replicas: Replicas) -> None:
    [acme] = await replicas.start()
    await acme.make_source(rate_limit=LIMIT)
    assert await flood([acme], 3 * LIMIT, "forged", headers=FORGED) == {403: 3 * LIMIT}
    assert await flood([acme], LIMIT - 1) == {202: LIMIT - 1}
    assert await flood([acme], LIMIT - 1) == {200: LIMIT - 1}
    assert error_of(await acme.post(b"{", event_id="malformed")) == (400, "malformed_json")
    assert (await acme.post(event_id="the last")).status_code == 202
    assert error_of(await acme.post(event_id="one too many")) == (429, "rate_limited")


async def test_an_address_has_its_own_limit_at_all_replicas_together(replicas: Replicas) -> None:  # TG-28
    gateways = await replicas.start(4, rate_per_address=40, trusted_proxies="127.0.0.1/32")
    await gateways[0].make_source()
    forged = await flood(gateways, 100, headers=FORGED | {"x-forwarded-for": "198.51.100.1"})
    assert set(forged) == {403, 429}  # strangers are counted by where they come from
    assert 32 <= forged[403] <= 40
    assert (await gateways[0].post(headers={"x-forwarded-for": "198.51.100.2"})).status_code == 202


async def test_a_sender_cannot_choose_its_address(replicas: Replicas) -> None:
    [acme] = await replicas.start(rate_per_address=20)
    await acme.make_source()
    posts = [acme.post(event_id=f"e{n}", headers={"x-forwarded-for": f"198.51.100.{n}"}) for n in range(30)]
    assert Counter(answer.status_code for answer in await asyncio.gather(*posts)) == {202: 20, 429: 10}


async def test_callbacks_count_for_the_address(replicas: Replicas) -> None:
    [acme] = await replicas.start(rate_per_address=3)
    answers = [await acme.http.post("/v1/callbacks/guess", json={"output": 1}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [503] * 3 + [429] * 2  # no executor answers here
    assert answers[-1].headers["retry-after"] == str(FREE_AT - SECOND)


async def test_messages_are_60_a_minute_from_one_address(replicas: Replicas) -> None:  # TG-28, TG-33
    [acme] = await replicas.start()
    await acme.make_source(scheme="bearer", robot="leader")
    answers = [await acme.http.post(HOOK, json={"message": "hi"}) for _ in range(62)]
    assert [answer.status_code for answer in answers] == [401] * 60 + [429] * 2


async def test_no_limit_is_no_limit(replicas: Replicas) -> None:
    [acme] = await replicas.start(rate_per_address=0, rate_per_source=0)
    await acme.make_source()
    assert await flood([acme], POSTS) == {202: POSTS}


async def test_the_checks_come_in_their_order(replicas: Replicas) -> None:  # DEC-7, TG-33
    [acme] = await replicas.start(rate_per_address=6)
    await acme.make_source(rate_limit=1)
    assert (await acme.post()).status_code == 202
    assert error_of(await acme.post(b"{", headers=FORGED)) == (403, "bad_signature")  # before the body
    assert error_of(await acme.post(b"{")) == (400, "malformed_json")  # before what is known of its id
    assert error_of(await acme.post({"other": "body"})) == (409, "event_id_reused")  # before the source's budget
    assert error_of(await acme.post(event_id="evt_2")) == (429, "rate_limited")
    assert error_of(await acme.post(event_id="evt_2", headers=FORGED)) == (
        429,
        "rate_limited",
    )  # spent: looked at first
    unknown = await acme.post(path="/v1/hooks/acme/unknown")
    assert error_of(unknown) == (429, "rate_limited")  # the address's seventh
    assert error_of(await acme.http.post(HOOK, content=b"x" * 65_537)) == (413, "too_large")  # before everything


async def test_more_posts_than_at_once_are_asked_to_come_back(
    replicas: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    [acme] = await replicas.start(webhooks_at_once=5)
    await acme.make_source()
    assert (await acme.post()).status_code == 202
    answers, store = asyncio.Event(), acme.bus.store

    async def wait_and_store(*message: Any) -> Any:
        await answers.wait()
        return await store(*message)

    monkeypatch.setattr(acme.bus, "store", wait_and_store)
    posts = [asyncio.create_task(acme.post(event_id=f"e{number}")) for number in range(20)]
    done = [await post for post in posts[5:]]
    assert not any(post.done() for post in posts[:5])  # these wait for the bus
    assert {error_of(answer) for answer in done} == {(503, "unavailable")}
    assert {"already" in answer.text for answer in done} == {True}
    assert {int(answer.headers["retry-after"]) > 0 for answer in done} == {True}
    answers.set()
    assert {(await post).status_code for post in posts[:5]} == {202}
