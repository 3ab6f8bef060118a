"""The differences between the streams, buckets and consumers of a server and those that are declared. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from nats.js.api import ConsumerConfig, StreamConfig

from rota_contracts.streams import BUCKETS, MIB, STREAMS, consumers


def differences(there: Mapping[str, StreamConfig]) -> list[str]:
    """One line for each difference that running the topology again mends. `there`: by the name of the stream; larger
    sizes and more copies are an operator's choice."""
    declared = {stream.name: (stream.max_bytes, float(stream.max_age)) for stream in STREAMS}
    declared |= {bucket.stream: (bucket.max_bytes, float(bucket.ttl)) for bucket in BUCKETS}
    found = [f"{name} is missing" for name in declared if name not in there]
    for name, (size, age) in declared.items():
        if name in there:
            found += _limits(name, there[name], size, age)
    for stream in STREAMS:
        if stream.name in there:
            found += _policies(stream.name, there[stream.name], (stream.retention, stream.discard))
    return found + _copies({name: config for name, config in there.items() if name in declared})


def consumer_differences(there: Mapping[tuple[str, str], ConsumerConfig]) -> list[str]:
    """The same for durable consumers. `there`: by stream and name."""
    found = []
    for each in consumers():
        name, config = f"consumer {each.stream}/{each.durable}", there.get((each.stream, each.durable))
        if config is None:
            found.append(f"{name} is missing")
            continue
        has = (config.filter_subject, config.ack_wait, config.max_ack_pending)
        declared = (each.filter_subject, each.ack_wait, each.max_ack_pending)
        parts = zip(("filter_subject", "ack_wait", "max_ack_pending"), has, declared, strict=True)
        found += [
            f"{name} has {part} {is_!s}, and {wanted!s} is declared" for part, is_, wanted in parts if is_ != wanted
        ]
    return found


def left_over(there: Mapping[tuple[str, str], ConsumerConfig]) -> list[str]:
    """Consumers of the streams that services read which this version doesn't declare, as `STREAM/durable`: of an older
    or newer version, or an operator's. While one is there, its stream keeps what it hasn't read."""
    kept_by_interest = {stream.name for stream in STREAMS if stream.retention == "interest"}
    declared = {(each.stream, each.durable) for each in consumers()}
    return sorted(
        f"{stream}/{name}" for stream, name in there if stream in kept_by_interest and (stream, name) not in declared
    )


def _limits(name: str, config: StreamConfig, size: int, age: float) -> Iterator[str]:
    has = config.max_bytes or -1
    if has < size:
        shown = f"{has / MIB:.4g} MiB" if has > 0 else "any number of bytes"
        yield f"{name} may hold {shown}, and {size / MIB:.4g} MiB are declared"
    if (config.max_age or 0) != age:
        yield f"{name} keeps for {config.max_age or 0:.0f} s, and {age:.0f} s are declared"


def _policies(name: str, config: StreamConfig, declared: tuple[str, str]) -> Iterator[str]:
    for what, has, wanted in zip(("retention", "discard"), (config.retention, config.discard), declared, strict=True):
        shown = getattr(has, "value", has)
        if shown != wanted:
            yield f"{name} has {what} {shown}, and {wanted} is declared"


def _copies(there: Mapping[str, StreamConfig]) -> list[str]:
    """A stream with fewer copies than most: it was made before the cluster grew."""
    copies = {name: config.num_replicas or 1 for name, config in there.items()}
    most = max(Counter(copies.values()).items(), key=lambda each: (each[1], each[0]), default=(1, 0))[0]
    return [f"{name} has {count} of {most} copies" for name, count in copies.items() if count < most]
