"""The topology: creates and updates streams, consumers and buckets, before the services start.

`python -m rota_common.topology`
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import nats
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    KeyValueConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import NotFoundError

from rota_common.bus.connection import identity, silent
from rota_common.clock import now
from rota_common.nats_admin.permissions import TOPOLOGY
from rota_common.runtime.settings import ServiceSettings
from rota_common.runtime.wrong_settings import settings_of_command
from rota_contracts.streams import (
    BUCKETS,
    STREAMS,
    Bucket,
    Consumer,
    Stream,
    consumers,
)

MAX_DELIVER = -1
"""No limit on the server: the failure policy counts deliveries, and buries every message that it gives up."""

MICROSECONDS = 1_000_000
"""In a second: more than the messages that a stream takes."""

DISCARD = {"new": DiscardPolicy.NEW, "old": DiscardPolicy.OLD}


@dataclass(frozen=True)
class Wanted:
    """What an operator asks for. `replicas`: copies of each stream, None: as many as it has. `scale`: the factor for
    all sizes. Without `force` neither is lowered below what a stream has."""

    replicas: int | None = None
    scale: float = 1.0
    force: bool = False

    def copies(self, there: StreamConfig | None) -> int:
        has = (there.num_replicas or 1) if there else 1
        asked = has if self.replicas is None else self.replicas
        return asked if self.force else max(asked, has)

    def bytes(self, declared: int, there: StreamConfig | None) -> int:
        """A stream without a limit gets one: its publishers rely on it."""
        asked, has = int(declared * self.scale), there.max_bytes if there else None
        return asked if self.force or has is None or has <= 0 else max(asked, has)


async def apply(jetstream: JetStreamContext, wanted: Wanted | None = None) -> list[str]:
    """Create or update everything; repeating it changes nothing. Returns the names.

    A stream keeps by interest only once its consumers are there: what services publish meanwhile would be dropped.
    """
    wanted = wanted or Wanted()
    done = [await _stream(jetstream, stream, wanted) for stream in STREAMS]
    done += [await _consumer(jetstream, consumer) for consumer in consumers()]
    for stream in STREAMS:
        await _keep_by_interest(jetstream, stream)
    done += [await _bucket(jetstream, bucket, wanted) for bucket in BUCKETS]
    return done


async def find_stream(jetstream: JetStreamContext, name: str) -> StreamInfo | None:
    try:
        return await jetstream.stream_info(name)
    except NotFoundError:
        return None


async def _stream(jetstream: JetStreamContext, stream: Stream, wanted: Wanted) -> str:
    found = await find_stream(jetstream, stream.name)
    there = found.config if found else None
    retention = RetentionPolicy.WORK_QUEUE if stream.retention == "workqueue" else RetentionPolicy.LIMITS
    if there and stream.retention == "interest":
        retention = RetentionPolicy(there.retention)
    config = StreamConfig(
        name=stream.name,
        subjects=list(stream.subjects),
        retention=retention,
        storage=StorageType.FILE,
        discard=DISCARD[stream.discard],
        max_age=stream.max_age,
        max_bytes=wanted.bytes(stream.max_bytes, there),
        duplicate_window=stream.duplicate_window,
        num_replicas=wanted.copies(there),
        allow_direct=True,
        max_msgs_per_subject=1 if stream.latest_only else -1,
        first_seq=_first(stream, there),
    )
    await (jetstream.update_stream(config) if there else jetstream.add_stream(config))
    return f"stream {stream.name}"


def _first(stream: Stream, there: StreamConfig | None) -> int | None:
    if there is not None:
        return there.first_seq
    return int(now().timestamp() * MICROSECONDS) if stream.remembered else None


async def _keep_by_interest(jetstream: JetStreamContext, stream: Stream) -> None:
    found = await find_stream(jetstream, stream.name)
    if stream.retention == "interest" and found and found.config.retention != RetentionPolicy.INTEREST:
        await jetstream.update_stream(found.config.evolve(retention=RetentionPolicy.INTEREST))


async def _consumer(jetstream: JetStreamContext, consumer: Consumer) -> str:
    """Where it starts is decided once: the server refuses to change that of a consumer that is there."""
    try:
        start = (await jetstream.consumer_info(consumer.stream, consumer.durable)).config.deliver_policy
    except NotFoundError:
        start = DeliverPolicy.NEW if consumer.start == "new" else DeliverPolicy.ALL
    config = ConsumerConfig(
        deliver_policy=start,
        durable_name=consumer.durable,
        filter_subject=consumer.filter_subject,
        ack_wait=consumer.ack_wait,
        max_ack_pending=consumer.max_ack_pending,
        max_deliver=MAX_DELIVER,
    )
    await jetstream.add_consumer(consumer.stream, config)
    return f"consumer {consumer.stream}/{consumer.durable}"


async def _bucket(jetstream: JetStreamContext, bucket: Bucket, wanted: Wanted) -> str:
    """A bucket is made by its client, and from then on updated as the stream that it is."""
    found = await find_stream(jetstream, bucket.stream)
    if found is None:
        await _make(jetstream, bucket, wanted)
    else:
        there = found.config
        changed = there.evolve(
            max_bytes=wanted.bytes(bucket.max_bytes, there),
            num_replicas=wanted.copies(there),
            max_age=bucket.ttl,
        )
        await jetstream.update_stream(changed)
    return f"bucket {bucket.name}"


async def _make(jetstream: JetStreamContext, bucket: Bucket, wanted: Wanted) -> None:
    size, replicas = wanted.bytes(bucket.max_bytes, None), wanted.copies(None)
    if bucket.kind == "KV":
        config = KeyValueConfig(
            bucket=bucket.name, history=1, max_bytes=size, ttl=bucket.ttl or None, replicas=replicas, direct=True
        )
        await jetstream.create_key_value(config)
    else:
        await jetstream.create_object_store(
            bucket.name,
            max_bytes=size,
            ttl=bucket.ttl or None,
            replicas=replicas,
            storage=StorageType.FILE,
        )


async def apply_to(url: str, *, nkey_file: str = "", ca_file: str = "", wanted: Wanted | None = None) -> list[str]:
    """`apply` over a connection of its own, with the key of the user `topology`."""
    who = identity(TOPOLOGY, nkey_file, ca_file)
    client = await nats.connect(url, connect_timeout=5, max_reconnect_attempts=3, error_cb=silent, **who)
    try:
        return await apply(client.jetstream(timeout=10), wanted)
    finally:
        await client.close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_common.topology", description=__doc__)
    settings = settings_of_command(ServiceSettings)
    parser.add_argument("--nats-url", default=settings.nats_url, help="default: $ROTA_NATS_URL")
    parser.add_argument("--nkey-file", default=settings.nats_nkey_file, help="default: $ROTA_NATS_NKEY_FILE")
    parser.add_argument("--ca-file", default=settings.nats_ca_file, help="default: $ROTA_NATS_CA_FILE")
    parser.add_argument("--replicas", type=int, help="copies of each stream and bucket: 3 on a NATS cluster of 3")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for all sizes (default 1)")
    parser.add_argument("--force", action="store_true", help="also lower copies and sizes")
    given = parser.parse_args(arguments)
    wanted = Wanted(given.replicas, given.scale, given.force)
    made = apply_to(given.nats_url, nkey_file=given.nkey_file, ca_file=given.ca_file, wanted=wanted)
    try:
        lines = asyncio.run(made)
    except (NatsError, OSError, ValueError) as error:
        mend = "correct the settings ROTA_NATS_… or the options, and run it again: it may be repeated"
        sys.stderr.write(f"{str(error) or repr(error)}\n{mend}\n")
        return 1
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
