"""The executor's store of agent calls in memory keeps the same promises as the one in MongoDB."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from executor.adapters.in_memory import InMemoryCalls
from executor.adapters.mongo_calls import MongoCalls
from executor.call_port import Calls
from rota_common.stores.mongo import Mongo
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.messages.conversation import Round, ToolUse, Turn
from rota_contracts.messages.trigger import Message
from rota_contracts.model import ALL

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


async def test_what_came_in_the_course_of_a_call_is_kept_once_and_outlives_its_claim(calls: Calls) -> None:  # EX-98
    await claimed(calls, "first")
    assert await calls.kept("c1", "create-0") is None
    kept = await asyncio.gather(*(calls.keep("c1", "create-0", f"${n}", team="acme") for n in "abcde"))
    assert len({*kept}) == 1
    await calls.release("c1", owner="first")
    assert await claimed(calls, "second") is True
    assert await calls.kept("c1", "create-0") == kept[0]
    assert await calls.keep("c1", "next-0", "", team="acme") == await calls.kept("c1", "next-0") == ""
    assert await calls.kept("c2", "create-0") is None


def a_call(call_id: str, chat_id: str = "$chat", team: str = "acme", member: str = ALL) -> CallAgent:
    of = {"call_id": call_id, "team_id": team, "member_id": member, "assistant_id": "$keeper", "chat_id": chat_id}
    return CallAgent.model_validate(of | {"messages": [Message(content="Go.")]})


async def begun(calls: Calls, *made: CallAgent, lease: timedelta = MINUTE) -> None:
    for call in made:
        await calls.claim(call.call_id, team=call.team_id, owner="first", lease=lease, shown=call)


async def test_a_team_sees_its_calls_until_they_have_their_answer_or_their_claim_ends(calls: Calls) -> None:  # EX-80
    await begun(calls, a_call("c1", member="m1"), a_call("c2", chat_id="other"), a_call("c3", team="globex"))
    await begun(calls, a_call("c4"), lease=ENDED)
    await calls.claim("c5", team="acme", owner="first", lease=MINUTE)  # a judge's
    first, second = reversed(await calls.under_way("acme"))
    assert (first.id, first.agent_id, first.member_id, first.chat_id) == ("c1", "$keeper", "m1", "$chat")
    assert (second.id, second.member_id, second.began_at >= first.began_at) == ("c2", None, True)
    assert [call.id for call in await calls.under_way("acme", chat_id="other")] == ["c2"]
    await begun(calls, a_call("c4"))  # by the next replica
    assert len(await calls.under_way("acme")) == 3
    await calls.remember("c1", AgentReply(agent_id="$keeper"))
    await calls.release("c2", owner="first")
    assert [call.id for call in await calls.under_way("acme")] == ["c4"]


async def test_an_aborted_call_has_a_reply_that_says_so_and_its_claim_is_lost(calls: Calls) -> None:  # EX-80
    await begun(calls, a_call("c1"), a_call("c2"))
    second, first = await calls.under_way("acme")
    assert await calls.abort(first, team="globex") is False
    assert await calls.renew("c1", owner="first", lease=MINUTE) is True
    assert await calls.abort(first, team="acme") is True
    assert await calls.renew("c1", owner="first", lease=MINUTE) is False
    aborted = AgentReply(agent_id="$keeper", error="the call was aborted")
    assert await calls.remember("c1", AgentReply(agent_id="$keeper", content="late")) == aborted
    assert await calls.abort(first, team="acme") is False
    assert await calls.under_way("acme") == [second]
    answer = await calls.remember("c2", AgentReply(agent_id="$keeper", content="done"))
    assert await calls.abort(second, team="acme") is False
    assert await calls.remember("c2", aborted) == answer


async def test_the_turn_of_a_call_outlives_its_claim_and_ends_with_the_reply(calls: Calls) -> None:  # CL-28
    use = ToolUse(step_id="s1", name="shop__find", server="shop", tool="find", arguments={"$of": {"a.b": 1}})
    turn = Turn(number=1, rounds=[Round(text="$looking", uses=[use])])
    assert await calls.turn("c1") is None
    assert await calls.save_turn("c1", turn, owner="first") is False  # there is no such call
    await claimed(calls, "first")
    assert await calls.save_turn("c1", turn, owner="second") is False
    assert await calls.turn("c1") is None
    assert await calls.save_turn("c1", turn, owner="first") is True
    await calls.release("c1", owner="first")
    assert await claimed(calls, "second") is True
    assert await calls.save_turn("c1", Turn(number=1), owner="first") is False
    assert await calls.turn("c1") == turn
    await calls.remember("c1", AgentReply(agent_id="keeper"))
    assert await calls.turn("c1") is None
    assert await calls.save_turn("c1", turn, owner="second") is False
