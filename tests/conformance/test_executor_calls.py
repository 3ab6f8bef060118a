"""The executor's store of agent calls in memory keeps the same promises as the one in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from executor.adapters.in_memory import InMemoryCalls
from executor.adapters.mongo_calls import MongoCalls
from executor.ports import Calls
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.agent import AgentReply

MINUTE, ENDED = timedelta(minutes=1), timedelta(0)


@pytest.fixture(params=["memory", "mongo"])
async def calls(request: pytest.FixtureRequest, mongo_url: str, mongo_prefix: str) -> AsyncIterator[Calls]:
    if request.param == "memory":
        yield InMemoryCalls()
        return
    mongo = Mongo(mongo_url, f"{mongo_prefix}_executor")
    store = MongoCalls(mongo.database)
    await store.prepare()
    yield store
    await mongo.client.drop_database(mongo.database.name)
    await mongo.close()


async def claimed(calls: Calls, owner: str, *, lease: timedelta = MINUTE) -> AgentReply | bool:
    return await calls.claim("c1", team="acme", owner=owner, lease=lease)


async def test_a_call_is_claimed_by_one_until_the_claim_ends(calls: Calls) -> None:  # EX-88
    assert await claimed(calls, "first") is True
    assert await claimed(calls, "second") is False
    assert await claimed(calls, "first") is False  # not even by itself: it is in hand
    assert await calls.claim("c2", team="acme", owner="second", lease=ENDED) is True
    assert await calls.claim("c2", team="acme", owner="first", lease=MINUTE) is True
    assert await calls.claim("c2", team="acme", owner="second", lease=MINUTE) is False


async def test_of_many_that_claim_a_call_one_gets_it(calls: Calls) -> None:
    claims = await asyncio.gather(*(claimed(calls, f"w{n}") for n in range(10)))
    assert sorted(map(str, claims)) == [*["False"] * 9, "True"]


async def test_a_claim_of_a_call_is_prolonged_by_its_owner_alone(calls: Calls) -> None:
    await claimed(calls, "first", lease=ENDED)
    await calls.renew("c1", owner="second", lease=MINUTE)
    await calls.renew("c2", owner="first", lease=MINUTE)  # there is no such call
    assert await claimed(calls, "second", lease=ENDED) is True
    await calls.renew("c1", owner="first", lease=MINUTE)  # it has lost the call
    assert await claimed(calls, "first") is True


async def test_a_claim_that_is_renewed_lives_on(calls: Calls) -> None:
    await claimed(calls, "first", lease=ENDED)
    await calls.renew("c1", owner="first", lease=MINUTE)
    assert await claimed(calls, "second") is False


async def test_a_call_that_was_given_back_is_free_at_once(calls: Calls) -> None:
    await claimed(calls, "first")
    await calls.release("c1", owner="second")
    assert await claimed(calls, "second") is False
    await calls.release("c1", owner="first")
    assert await claimed(calls, "second") is True


async def test_the_first_answer_to_a_call_wins(calls: Calls) -> None:  # EX-88
    first = AgentReply(agent_id="rota.validation", content='{"$passed": true}', response={"$passed": "$true"})
    await claimed(calls, "first")
    assert await calls.remember("c1", first) == first
    assert await calls.remember("c1", AgentReply(agent_id="rota.validation", content="no")) == first
    assert await claimed(calls, "second") == first
    await calls.release("c1", owner="first")
    assert await claimed(calls, "first") == first


async def test_of_many_answers_at_once_all_get_the_same(calls: Calls) -> None:
    answers = [AgentReply(agent_id="a", content=str(number)) for number in range(10)]
    kept = await asyncio.gather(*(calls.remember("c1", answer) for answer in answers))
    assert len({answer.content for answer in kept}) == 1
