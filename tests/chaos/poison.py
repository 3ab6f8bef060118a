"""Poison: after one message in a hundred, another of its kind that no handler can read."""

from collections import Counter
from random import Random

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from rota_contracts.catalog import FEED, ROOT
from rota_contracts.streams import STREAMS, consumers

SHARE = 0.01
MARK = "poison-"
RPC = f"{ROOT}.rpc."
READ = {consumer.filter_subject for consumer in consumers()}
CLOSED = tuple(
    pattern.rstrip(">") for stream in STREAMS if stream.name in ("DEAD", FEED) for pattern in stream.subjects
)
"""Dead letters, and the feed, whose subjects one service numbers."""


def is_poison(message: Msg) -> bool:
    return (message.headers or {}).get("ce-id", "").startswith(MARK)


OTHER_FIELDS = b'{"team_id": {"$gt": ""}, "execution_id": 7}'
"""Another version may have sent it: it waits for a reader, and stops nothing meanwhile."""


def spoiled(data: bytes, random: Random) -> bytes:
    """Cut off, of another type, of other fields, no text at all."""
    return random.choice((data[: len(data) // 2], b"[]", OTHER_FIELDS, b"\xff\x00\xfe"))


class Poison:
    """`sent` counts by the kind of message; `due` are the ids that must become dead letters: they have a consumer, and
    are of no version."""

    def __init__(self, random: Random, *, share: float = SHARE) -> None:
        self._random, self._share = random, share
        self.sent: Counter[str] = Counter()
        self.due = set[str]()

    async def open(self, client: Client) -> None:
        self._client = client
        await client.subscribe(f"{ROOT}.>", cb=self._seen)

    async def _seen(self, message: Msg) -> None:
        if is_poison(message) or message.subject.startswith(CLOSED):
            return
        kind = ".".join(message.subject.removeprefix(f"{ROOT}.").split(".")[:2])
        if self._random.random() >= (self._share if self.sent[kind] else 5 * self._share):
            return
        name = f"{MARK}{sum(self.sent.values())}"
        kept = {key: value for key, value in (message.headers or {}).items() if not key.startswith("Nats-")}
        headers = {**kept, "ce-id": name, "Nats-Msg-Id": name}
        data = spoiled(message.data, self._random)
        try:
            if message.subject.startswith(RPC):
                await self._client.publish(message.subject, data, headers=headers)
            else:
                await self._client.jetstream().publish(message.subject, data, headers=headers, timeout=2)
                if f"{ROOT}.{kind}.*.*" in READ and data != OTHER_FIELDS:
                    self.due.add(name)
        except (NatsError, OSError, TimeoutError):
            return  # the server is down
        self.sent[kind] += 1
