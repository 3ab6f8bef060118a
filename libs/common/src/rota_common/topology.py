"""The topology: creates and updates streams, consumers and buckets, before the services start.

`python -m rota_common.topology`
"""

import argparse
import asyncio
import sys
from typing import Any

import nats
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, KeyValueConfig, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import BucketNotFoundError, NotFoundError

from rota_common.bus.connection import identity
from rota_common.nats_admin.permissions import TOPOLOGY
from rota_common.runtime.settings import ServiceSettings
from rota_contracts.streams import (
    ATTACHMENTS_BUCKET,
    ATTACHMENTS_KEPT_S,
    MIB,
    OUTPUTS_BUCKET,
    ROBOTS_BUCKET,
    STREAMS,
    Consumer,
    Stream,
    consumers,
)

MAX_DELIVER = -1
"""No limit on the server: the failure policy counts deliveries, and buries every message that it gives up."""


async def apply(jetstream: JetStreamContext, *, replicas: int = 1) -> list[str]:
    """Create or update everything; repeating it changes nothing. Returns the names."""
    done = [await _stream(jetstream, stream, replicas) for stream in STREAMS]
    done += [await _consumer(jetstream, consumer) for consumer in consumers()]
    done.append(await _robots(jetstream, replicas))
    done.append(await _objects(jetstream, replicas, OUTPUTS_BUCKET, max_bytes=1024 * MIB))
    done.append(await _objects(jetstream, replicas, ATTACHMENTS_BUCKET, max_bytes=2048 * MIB, ttl=ATTACHMENTS_KEPT_S))
    return done


async def _stream(jetstream: JetStreamContext, stream: Stream, replicas: int) -> str:
    retention = RetentionPolicy.WORK_QUEUE if stream.retention == "workqueue" else RetentionPolicy.LIMITS
    config = StreamConfig(
        name=stream.name,
        subjects=list(stream.subjects),
        retention=retention,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_age=stream.max_age,
        max_bytes=stream.max_bytes,
        duplicate_window=stream.duplicate_window,
        num_replicas=replicas,
        allow_direct=True,
    )
    try:
        await jetstream.stream_info(stream.name)
    except NotFoundError:
        await jetstream.add_stream(config)
    else:
        await jetstream.update_stream(config)
    return f"stream {stream.name}"


async def _consumer(jetstream: JetStreamContext, consumer: Consumer) -> str:
    config = ConsumerConfig(
        durable_name=consumer.durable,
        filter_subject=consumer.filter_subject,
        ack_wait=consumer.ack_wait,
        max_ack_pending=consumer.max_ack_pending,
        max_deliver=MAX_DELIVER,
    )
    await jetstream.add_consumer(consumer.stream, config)
    return f"consumer {consumer.stream}/{consumer.durable}"


async def _robots(jetstream: JetStreamContext, replicas: int) -> str:
    try:
        await jetstream.key_value(ROBOTS_BUCKET)
    except BucketNotFoundError:
        await jetstream.create_key_value(
            KeyValueConfig(bucket=ROBOTS_BUCKET, history=1, max_bytes=512 * MIB, replicas=replicas, direct=True)
        )
    return f"bucket {ROBOTS_BUCKET}"


async def _objects(jetstream: JetStreamContext, replicas: int, bucket: str, **limits: float) -> str:
    """`limits`: max_bytes; ttl in seconds, without one: forever."""
    try:
        await jetstream.object_store(bucket)
    except BucketNotFoundError:
        options: dict[str, Any] = {"replicas": replicas, "storage": StorageType.FILE, **limits}
        await jetstream.create_object_store(bucket, **options)
    return f"bucket {bucket}"


async def apply_to(url: str, *, nkey_file: str = "", ca_file: str = "", replicas: int = 1) -> list[str]:
    """`apply` over a connection of its own, with the key of the user `topology`."""
    who = identity(TOPOLOGY, nkey_file, ca_file)
    client = await nats.connect(url, connect_timeout=5, max_reconnect_attempts=3, **who)
    try:
        return await apply(client.jetstream(timeout=10), replicas=replicas)
    finally:
        await client.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m rota_common.topology", description=__doc__)
    settings = ServiceSettings()
    parser.add_argument("--nats-url", default=settings.nats_url, help="default: $ROTA_NATS_URL")
    parser.add_argument("--nkey-file", default=settings.nats_nkey_file, help="default: $ROTA_NATS_NKEY_FILE")
    parser.add_argument("--ca-file", default=settings.nats_ca_file, help="default: $ROTA_NATS_CA_FILE")
    parser.add_argument("--replicas", type=int, default=1, help="copies of each stream: 3 on a NATS cluster of 3")
    given = parser.parse_args()
    made = apply_to(given.nats_url, nkey_file=given.nkey_file, ca_file=given.ca_file, replicas=given.replicas)
    for line in asyncio.run(made):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
