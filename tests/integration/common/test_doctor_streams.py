"""The doctor's view of streams and buckets, on a real server."""

from nats.js.api import ConsumerConfig

from rota.findings import Level
from rota.server.doctor_streams import check_streams
from rota.server.upgrade_check import check_topology
from rota_common.bus.stream_usage import waiting_triggers
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_contracts.catalog import ROBOT_CHANGED
from rota_contracts.streams import BUCKETS, STREAMS
from tests.integration.common.harness import DURABLE, jetstream, publish


async def test_the_doctor_says_how_full_each_stream_is_and_what_is_not_as_declared(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        found = {each.part: each for each in await check_streams(js)}
        assert set(found) == {
            "topology", *(f"stream {each.name}" for each in STREAMS), *(f"bucket {each.name}" for each in BUCKETS),
        }  # fmt: skip
        assert {each.level for each in found.values()} == {Level.OK}
        assert found["stream EXECUTIONS"].found == "0% of 1024 MiB"

        await publish(nats.url, "e1")
        info = await js.stream_info("EXECUTIONS")
        await js.update_stream(info.config.evolve(max_bytes=info.state.bytes))
        found = {each.part: each for each in await check_streams(js)}
        assert found["topology"].level is Level.MISSING
        assert "EXECUTIONS may hold" in found["topology"].found
        full = found["stream EXECUTIONS"]
        assert (full.level, full.found.split(": ")[1]) == (Level.MISSING, "new work is refused")
        assert full.found.startswith("100% of")


async def test_an_upgrade_sees_what_the_topology_would_change_and_whose_consumers_it_would_leave(
    nats: EmbeddedServer,
) -> None:
    async with jetstream(nats.url) as js:
        before = await check_topology(js)  # the test server's own witness is a consumer that isn't declared, too
        assert Level.MISSING not in {each.level for each in before}
        config = (await js.consumer_info("EXECUTIONS", DURABLE)).config
        await js.add_consumer("EXECUTIONS", config.evolve(max_ack_pending=7))
        await js.delete_consumer("FACTS", ROBOT_CHANGED.durable("memory"))
        await js.add_consumer(
            "FACTS", ConsumerConfig(durable_name="of-a-later-version", filter_subject="rota.v1.a.b.>")
        )
        found = {each.found: each.level for each in await check_topology(js) if each not in before}
    assert found == {
        f"consumer EXECUTIONS/{DURABLE} has max_ack_pending 7, and 1000 is declared": Level.MISSING,
        f"consumer FACTS/{ROBOT_CHANGED.durable('memory')} is missing": Level.MISSING,
        "consumer FACTS/of-a-later-version isn't declared": Level.NOTE,
    }


async def test_waiting_triggers_are_counted_by_team(nats: EmbeddedServer) -> None:
    async with jetstream(nats.url) as js:
        for subject in ("acme.a", "acme.a", "acme.b", "beta.a"):
            await js.publish(f"rota.v1.trigger.received.{subject}", b"x")
        assert await waiting_triggers(js) == {"acme": 3, "beta": 1}
