"""Differences between what a server has and what is declared."""

from nats.js.api import DiscardPolicy, RetentionPolicy, StreamConfig

from rota_common.nats_admin.compare_topology import differences
from rota_contracts.streams import BUCKETS, MIB, STREAMS


def declared() -> dict[str, StreamConfig]:
    found = {
        stream.name: StreamConfig(
            max_bytes=stream.max_bytes,
            max_age=stream.max_age,
            retention=RetentionPolicy(stream.retention),
            discard=DiscardPolicy(stream.discard),
            num_replicas=3,
        )
        for stream in STREAMS
    }
    return found | {
        bucket.stream: StreamConfig(max_bytes=bucket.max_bytes, max_age=bucket.ttl, num_replicas=3)
        for bucket in BUCKETS
    }


def test_what_is_as_declared_or_larger_is_fine() -> None:
    larger = declared()["EXECUTIONS"].evolve(max_bytes=4096 * MIB, num_replicas=5)
    assert differences(declared() | {"EXECUTIONS": larger}) == []


def test_every_difference_is_named() -> None:
    there = declared()
    there["TRIGGERS"] = there["TRIGGERS"].evolve(max_bytes=MIB)
    there["EXECUTIONS"] = there["EXECUTIONS"].evolve(retention=RetentionPolicy.LIMITS)
    there["DELIVERIES"] = there["DELIVERIES"].evolve(discard=DiscardPolicy.NEW, max_age=60.0)
    there["KV_robots"] = there["KV_robots"].evolve(num_replicas=1)
    there["OBJ_outputs"] = there["OBJ_outputs"].evolve(max_age=60.0, max_bytes=-1)
    del there["DEAD"]
    assert differences(there) == [
        "DEAD is missing",
        "TRIGGERS may hold 1 MiB, and 256 MiB are declared",
        "DELIVERIES keeps for 60 s, and 1209600 s are declared",
        "OBJ_outputs may hold any number of bytes, and 1024 MiB are declared",
        "OBJ_outputs keeps for 60 s, and 0 s are declared",
        "EXECUTIONS has retention limits, and interest is declared",
        "DELIVERIES has discard new, and old is declared",
        "KV_robots has 1 of 3 copies",
    ]
