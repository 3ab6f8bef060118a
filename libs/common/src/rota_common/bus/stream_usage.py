"""The usage of streams and buckets: the bytes that they hold, against their limits."""

import asyncio
from collections import Counter
from dataclasses import dataclass

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from rota_contracts.catalog import TRIGGER_RECEIVED
from rota_contracts.streams import BUCKETS, MIB, OUTPUTS_BUCKET, REFUSE_AT, STREAMS

TEXTS_STREAM = f"OBJ_{OUTPUTS_BUCKET}"
CHUNKS = f"$O.{OUTPUTS_BUCKET}.C.*.*.*.*"
"""Chunks of long texts: team, execution, digest, number (`rota_common.stores.blobs`)."""


@dataclass(frozen=True)
class Usage:
    """`stream`: its name on the server. `refuses`: it takes nothing more once it is full. `needed`: accepted work can't
    go on then."""

    part: str
    stream: str
    used: int
    max_bytes: int
    messages: int
    refuses: bool
    needed: bool

    @property
    def share(self) -> float:
        return self.used / self.max_bytes if self.max_bytes > 0 else 0.0

    @property
    def nearly_full(self) -> bool:
        """It refuses soon, or does already."""
        return self.refuses and self.share >= REFUSE_AT

    def __str__(self) -> str:
        return f"{self.share:.0%} of {self.max_bytes / MIB:.4g} MiB"


PARTS = (
    *((f"stream {stream.name}", stream.name, stream.discard == "new", stream.needed) for stream in STREAMS),
    *((f"bucket {bucket.name}", bucket.stream, True, bucket.needed) for bucket in BUCKETS),
)


async def read_usage(jetstream: JetStreamContext) -> list[Usage]:
    """The usage of every stream and bucket that is there, asked for all at once. Raises nats.errors.Error."""
    found = await asyncio.gather(*(_read(jetstream, *part) for part in PARTS))
    return [usage for usage in found if usage is not None]


async def _read(jetstream: JetStreamContext, part: str, name: str, refuses: bool, needed: bool) -> Usage | None:
    try:
        info = await jetstream.stream_info(name)
    except NotFoundError:
        return None
    limit, state = info.config.max_bytes or 0, info.state
    return Usage(part, name, state.bytes, limit, state.messages, refuses, needed)


async def waiting_triggers(jetstream: JetStreamContext) -> Counter[str]:
    """The number of triggers by team that the scheduler hasn't taken yet. Raises nats.errors.Error."""
    pattern = TRIGGER_RECEIVED.pattern
    return await _by_team(jetstream, TRIGGER_RECEIVED.stream or "", pattern, team_at=len(pattern.split(".")) - 2)


async def kept_texts(jetstream: JetStreamContext) -> Counter[str]:
    """The chunks of long texts that the executions of each team keep. Raises nats.errors.Error."""
    return await _by_team(jetstream, TEXTS_STREAM, CHUNKS, team_at=3)


async def _by_team(jetstream: JetStreamContext, stream: str, pattern: str, *, team_at: int) -> Counter[str]:
    info = await jetstream.stream_info(stream, subjects_filter=pattern)
    found = Counter[str]()
    for subject, count in (info.state.subjects or {}).items():
        found[subject.split(".")[team_at]] += count
    return found
