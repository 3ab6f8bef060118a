"""The differences between the streams and buckets of a server and those that are declared. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping

from nats.js.api import StreamConfig

from rota_contracts.streams import BUCKETS, MIB, STREAMS


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
