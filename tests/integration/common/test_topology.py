"""The topology on a real server: streams and consumers of the catalog, however often it is applied."""

from typing import Any

from nats.js import JetStreamContext
from nats.js.api import DeliverPolicy, RetentionPolicy, StreamConfig

from rota_common import topology
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.testing.bus import WITNESS, keep_none
from rota_common.topology import Wanted
from rota_contracts.catalog import ROBOT_CHANGED
from rota_contracts.streams import BUCKETS, STREAMS, consumers
from tests.integration.common.harness import CHANNEL, DURABLE, Seen, jetstream, publish, reading

CHOICES = ((None, False), (1, False), (5, False), (1, True), (None, True))


async def state(js: JetStreamContext) -> dict[str, Any]:
    """The configuration of everything, by name."""
    found: dict[str, Any] = {}
    for stream in await js.streams_info():
        name = stream.config.name or ""
        found[name] = stream.config
        made = [consumer for consumer in await js.consumers_info(name) if consumer.name != WITNESS]
        found |= {f"{name}/{consumer.name}": consumer.config for consumer in made}
    return found


async def test_everything_of_the_catalog_is_there(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        found = await state(js)
    wanted = {stream.name for stream in STREAMS} | {f"{each.stream}/{each.durable}" for each in consumers()}
    assert set(found) == wanted | {bucket.stream for bucket in BUCKETS}


async def test_a_stream_has_the_limits_of_its_declaration(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        found = await state(js)
    for stream in STREAMS:
        config = found[stream.name]
        assert tuple(config.subjects) == stream.subjects
        assert (config.max_bytes, config.max_age) == (stream.max_bytes, stream.max_age)
        assert (config.duplicate_window, config.discard) == (stream.duplicate_window, stream.discard)
        assert config.retention == stream.retention
    for bucket in BUCKETS:
        assert (found[bucket.stream].max_bytes, found[bucket.stream].max_age) == (bucket.max_bytes, bucket.ttl)


async def test_applying_it_twice_changes_nothing(nats: EmbeddedServer) -> None:
    await publish(nats.url, "e1")
    async with jetstream(nats.url) as js:
        before = await state(js)
        first = await topology.apply(js)
        assert await topology.apply(js) == first
        assert await state(js) == before
        assert (await js.stream_info(CHANNEL.stream or "")).state.messages == 1


async def test_a_feed_that_is_made_anew_begins_above_the_numbers_of_the_one_before(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        before = [(await js.publish("rota.v1.delivery.completed.acme.ann", b"")).seq for _ in range(3)]
        await js.delete_stream("DELIVERIES")
        await topology.apply(js)
        after = (await js.publish("rota.v1.delivery.completed.acme.ann", b"")).seq
    assert after > max(before), "services keep numbers of it, and search behind them"


async def test_a_changed_stream_is_restored_without_loss(nats: EmbeddedServer) -> None:
    await publish(nats.url, "e1")
    async with jetstream(nats.url) as js:
        before = await state(js)
        consumer, stream = (await js.consumer_info(CHANNEL.stream or "", DURABLE)).config, before["EXECUTIONS"]
        consumer.ack_wait, consumer.max_ack_pending = 5, 7
        await js.add_consumer("EXECUTIONS", consumer)
        await js.update_stream(stream.evolve(max_age=3600))
        assert await state(js) != before
        await topology.apply(js)
        assert await state(js) == before
    seen = Seen()
    async with reading(nats.url, seen):
        await seen.times(1)


async def test_a_consumer_that_is_missing_is_made(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        before = await state(js)
        await js.delete_consumer("EXECUTIONS", DURABLE)
        await topology.apply(js)
        assert await state(js) == before


async def test_a_consumer_that_an_upgrade_adds_begins_with_all_requests_but_with_new_facts_alone(
    nats: EmbeddedServer,
) -> None:
    changed = ROBOT_CHANGED.durable("memory")
    await publish(nats.url, "e1")
    async with jetstream(nats.url) as js:
        await js.publish(ROBOT_CHANGED.subject("acme", "ann"), b"{}")
        for stream, durable in (("EXECUTIONS", DURABLE), ("FACTS", changed)):
            await js.delete_consumer(stream, durable)
        await topology.apply(js)
        await topology.apply(js)
        assert (await js.consumer_info("EXECUTIONS", DURABLE)).num_pending == 1
        assert (await js.consumer_info("FACTS", changed)).num_pending == 0


async def test_a_consumer_from_before_keeps_its_place(nats: EmbeddedServer) -> None:
    changed = ROBOT_CHANGED.durable("memory")
    async with jetstream(nats.url) as js:
        config = (await js.consumer_info("FACTS", changed)).config
        await js.delete_consumer("FACTS", changed)
        await js.add_consumer("FACTS", config.evolve(deliver_policy=DeliverPolicy.ALL))  # as earlier versions made it
        await js.publish(ROBOT_CHANGED.subject("acme", "ann"), b"{}")
        await topology.apply(js)
        info = await js.consumer_info("FACTS", changed)
        assert (info.num_pending, info.config.deliver_policy) == (1, DeliverPolicy.ALL)


async def test_a_stream_of_an_older_version_keeps_what_is_not_handled_and_lets_go_of_the_rest(
    nats: EmbeddedServer,
) -> None:
    await keep_none(nats.url)
    async with jetstream(nats.url) as js:
        made = (await js.stream_info("EXECUTIONS")).config
        await js.update_stream(made.evolve(retention=RetentionPolicy.LIMITS))
        await publish(nats.url, "e1")
        seen = Seen()
        async with reading(nats.url, seen):
            await seen.times(1)
        await publish(nats.url, "e2")
        assert (await js.stream_info("EXECUTIONS")).state.messages == 2
        await topology.apply(js)
        assert (await js.stream_info("EXECUTIONS")).config == made
        assert (await js.stream_info("EXECUTIONS")).state.messages == 1
    async with reading(nats.url, seen):
        await seen.times(2)


async def test_running_it_again_never_lowers_what_an_operator_has_raised(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        declared = await state(js)
        names = [each.name for each in STREAMS] + [each.stream for each in BUCKETS]
        await topology.apply(js, Wanted(scale=2))
        raised = await state(js)
        assert {name: raised[name].max_bytes for name in names} == {
            name: 2 * declared[name].max_bytes for name in names
        }
        await topology.apply(js)
        assert await state(js) == raised
        await topology.apply(js, Wanted(force=True))
        assert await state(js) == declared


async def test_a_bucket_of_an_older_version_gets_its_limits(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        outputs = (await js.stream_info("OBJ_outputs")).config
        await js.update_stream(outputs.evolve(max_age=0, max_bytes=1024))
        await topology.apply(js)
        assert (await js.stream_info("OBJ_outputs")).config == outputs


def test_copies_are_never_lowered_by_leaving_them_out() -> None:
    there = StreamConfig(num_replicas=3, max_bytes=100)
    assert [Wanted(replicas, force=force).copies(there) for replicas, force in CHOICES] == [3, 3, 5, 1, 3]
    assert [Wanted(replicas).copies(None) for replicas in (None, 3)] == [1, 3]
