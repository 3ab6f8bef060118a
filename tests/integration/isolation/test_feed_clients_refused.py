"""The fences of a feed client: other teams, other feed clients and the platform, verb by verb (F22)."""

import asyncio
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from rota_common.bus.barrier import barrier
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import AGENT_CALLS, FEED, agent_subject
from rota_contracts.feed import API_PREFIX, team_subjects
from tests.integration.isolation.harness import IsolatedNats

pytestmark = pytest.mark.integration

RIVALS = f"{FEED}.rival=crm"
JOIN: dict[str, Any] = {"batch": 1, "expires": 200_000_000}
PUSHED = {"deliver_subject": "rota.v1.rpc.executor.control", "name": "x", "ack_policy": "none"}
PUSH = {"stream_name": FEED, "config": PUSHED}
VERBS: dict[str, dict[str, Any]] = {
    "INFO": {},
    "STREAM.NAMES": {},
    "STREAM.LIST": {},
    f"STREAM.INFO.{FEED}": {},
    "STREAM.CREATE.MINE": {"name": "MINE", "subjects": ["rota.v1.>"]},
    f"STREAM.UPDATE.{FEED}": {"name": FEED, "subjects": ["x"]},
    f"STREAM.DELETE.{FEED}": {},
    f"STREAM.PURGE.{FEED}": {},
    f"STREAM.MSG.GET.{FEED}": {"seq": 1},
    f"STREAM.MSG.DELETE.{FEED}": {"seq": 1},
    f"DIRECT.GET.{FEED}": {"seq": 1},
    f"DIRECT.GET.{FEED}.rota.v1.delivery.completed.rival.robot": {},
    "DIRECT.GET.KV_robots.$KV.robots.rival.robot": {},
    f"CONSUMER.NAMES.{FEED}": {},
    f"CONSUMER.LIST.{FEED}": {},
    f"CONSUMER.CREATE.{FEED}": PUSH,
    f"CONSUMER.CREATE.{FEED}.x": PUSH,
    f"CONSUMER.DURABLE.CREATE.{FEED}.x": PUSH,
    f"CONSUMER.DELETE.{RIVALS}": {},
    f"CONSUMER.INFO.{RIVALS}": {},
    f"CONSUMER.MSG.NEXT.{RIVALS}": JOIN,
    "CONSUMER.INFO.EXECUTIONS.executor-execution-requested": {},
    "CONSUMER.MSG.NEXT.EXECUTIONS.executor-execution-requested": JOIN,
}


async def test_no_verb_of_jetstream_reads_or_changes_what_belongs_to_others(fenced: IsolatedNats) -> None:
    await fenced.deliver("rival", "acme")
    before, member = await fenced.stored(), await fenced.member("acme", "crm")
    requests = {f"{prefix}.{verb}": request for prefix in (API_PREFIX, "$JS.API") for verb, request in VERBS.items()}
    answers = await asyncio.gather(*(member.answer(subject, request) for subject, request in requests.items()))
    assert {subject: answer for subject, answer in zip(requests, answers, strict=True) if answer} == {}
    assert await fenced.stored() == before
    rival = await fenced.member("rival", "crm")
    assert '"num_pending":1' in await rival.answer(f"{API_PREFIX}.CONSUMER.INFO.{RIVALS}")


async def test_every_verb_is_refused_by_its_name(bus: IsolatedNats) -> None:
    member = await bus.member("acme", "crm")
    await member.published(*(f"{prefix}.{verb}" for prefix in (API_PREFIX, "$JS.API") for verb in VERBS))
    assert len(member.refused) == 2 * len(VERBS)


WILDCARDS = (">", "rota.>", "rota.v1.>", "rota.v1.*.*.*.*", "*.*.*.*.*.*", "rota.v1.dead.>", "$KV.>", "$O.>", "$JS.>")


async def test_a_wildcard_receives_nothing_of_others(fenced: IsolatedNats) -> None:
    member, received = await fenced.member("acme", "crm"), []

    async def receive(message: Msg) -> None:
        received.append(message.subject)

    for subject in WILDCARDS:
        await member.client.subscribe(subject, cb=receive)
    await barrier(member.client)
    await fenced.deliver("rival", "acme")
    gateway = await fenced.service("trigger-gateway")
    await gateway.client.publish("$KV.robots.rival.robot", b"")
    await gateway.client.publish("rota.v1.trigger.received.acme.robot", b"")
    await barrier(gateway.client)
    await barrier(member.client)
    # In its own account, a wildcard could only receive what the account is given anyway.
    assert set(received) <= {"rota.v1.delivery.completed.acme.robot"}


async def test_no_subject_of_another_team_is_received(fenced: IsolatedNats) -> None:
    member, received = await fenced.member("acme", "crm"), []

    async def receive(message: Msg) -> None:
        received.append(message.subject)

    for subject in (*team_subjects("rival"), "rota.v1.process.rival.>", "_INBOX_executor.>"):
        await member.client.subscribe(subject, cb=receive)
    await barrier(member.client)
    await fenced.deliver("rival")
    executor = await fenced.service("executor")
    await executor.client.publish("rota.v1.process.rival.crm.greet", b"")
    await barrier(executor.client)
    await barrier(member.client)
    assert received == []


async def test_nothing_it_publishes_reaches_the_platform_or_another_team(fenced: IsolatedNats) -> None:
    operator, rival = await fenced.user("operator"), await fenced.member("rival", "crm")
    member, received, before = await fenced.member("acme", "crm"), [], await fenced.stored()

    async def receive(message: Msg) -> None:
        if message.data == b"forged":
            received.append(message.subject)

    await operator.client.subscribe("rota.>", cb=receive)
    for subject in (*team_subjects("rival"), "rota.v1.process.rival.>"):
        await rival.client.subscribe(subject, cb=receive)
    await barrier(operator.client)
    await barrier(rival.client)
    await member.published(
        *(subject.replace("*", "robot") for team in ("acme", "rival") for subject in team_subjects(team)),
        *("rota.v1.trigger.received.acme.robot", "rota.v1.execution.requested.acme.robot", "rota.v1.dead.x"),
        *("rota.v1.rpc.executor.control", "rota.v1.process.rival.crm.greet", "rota.v1.process.acme.crm.greet"),
        *("$KV.robots.acme.robot", "$O.outputs.C.x", "$SYS.REQ.SERVER.PING"),
    )
    await barrier(operator.client)
    await barrier(rival.client)
    assert received == []
    assert await fenced.stored() == before


async def test_the_answer_to_a_fact_that_it_received_does_not_reach_who_published_it(fenced: IsolatedNats) -> None:
    # A fact carries where its publisher waits for JetStream: an answer from here could pass for the stream's.
    member, inboxes = await fenced.member("acme", "crm"), []

    async def answer(message: Msg) -> None:
        inboxes.append(message.reply)
        await message.respond(b'{"stream": "FORGED", "seq": 1}')

    await member.client.subscribe("rota.v1.delivery.completed.acme.*", cb=answer)
    operator, received = await fenced.user("operator"), []

    async def receive(message: Msg) -> None:
        received.append(message.data)

    await operator.client.subscribe("_INBOX_delivery-center.>", cb=receive)
    await barrier(operator.client)
    await barrier(member.client)
    await fenced.deliver("acme")
    await barrier(member.client)
    await barrier(operator.client)
    assert len(inboxes) == 1
    assert [data for data in received if b"FORGED" in data] == []


async def test_it_can_not_acknowledge_for_another_feed_client(fenced: IsolatedNats) -> None:
    await fenced.deliver("rival")
    rival = await fenced.member("rival", "crm")
    source = await rival.client.jetstream(prefix=API_PREFIX).pull_subscribe_bind(durable="rival=crm", stream=FEED)
    (message,) = await source.fetch(1, timeout=PATIENCE_S)
    member = await fenced.member("acme", "crm")
    await member.client.publish(message.reply, b"+ACK")
    await barrier(member.client)
    assert '"num_ack_pending":1' in await rival.answer(f"{API_PREFIX}.CONSUMER.INFO.{RIVALS}")


async def test_a_teams_second_feed_client_is_closed_to_the_first(bus: IsolatedNats) -> None:
    await bus.deliver("acme")
    member = await bus.member("acme", "crm")
    for verb, request in ((f"CONSUMER.INFO.{FEED}.acme=archive", {}), (f"CONSUMER.MSG.NEXT.{FEED}.acme=archive", JOIN)):
        assert await member.answer(f"{API_PREFIX}.{verb}", request) == ""
    await member.published(f"$JS.ACK.{FEED}.acme=archive.1.1.1.1.0")
    assert len(member.refused) == 3


async def test_only_a_client_that_may_calls_its_own_teams_agents(own_bus: IsolatedNats) -> None:  # CL-28
    gateway = await own_bus.service("trigger-gateway")
    asked: list[str] = []

    async def answer(message: Msg) -> None:
        asked.append(message.subject)
        await message.respond(b"an answer")

    await gateway.client.subscribe(AGENT_CALLS, "q", cb=answer)
    await barrier(gateway.client)
    await own_bus.add("acme", "caller", calls=True)
    await own_bus.add("rival", "caller", calls=True)
    mine, others = agent_subject("acme", "yao.keeper"), agent_subject("rival", "yao.keeper")
    for team, name in (("acme", "caller"), ("acme", "crm"), ("rival", "caller"), ("rival", "crm")):
        client = await own_bus.member(team, name)
        own, foreign = (mine, others) if team == "acme" else (others, mine)
        if name == "caller":
            assert (await client.client.request(own, b"{}", timeout=PATIENCE_S)).data == b"an answer"
            await client.published(foreign, reply="_INBOX.x")
        else:
            await client.published(own, foreign, reply="_INBOX.x")
        assert len(client.refused) == (1 if name == "caller" else 2), (team, name)
    assert asked == [mine, others]
    await own_bus.feed_clients.remove("acme", "caller")
    assert [(one.team, one.name) for one in await own_bus.feed_clients.listed() if one.calls] == [("rival", "caller")]


async def test_a_client_without_a_key_is_refused(bus: IsolatedNats) -> None:
    client = Client()
    with pytest.raises(NatsError, match="Authorization Violation"):
        await client.connect(bus.url, allow_reconnect=False)
    await client.close()
