"""One JetStream stream and its consumers in memory, for `in_memory_bus`."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from nats.js.errors import APIError, ServiceUnavailableError

from rota_contracts.envelope import MSG_ID
from rota_contracts.streams import Consumer, Stream

DIRECT_GET = "$JS.API.DIRECT.GET."
EXPECTED_LAST = "Nats-Expected-Last-Subject-Sequence"
WRONG_LAST_SEQUENCE = 10071
FULL = 10077
MAX_PAYLOAD = 1024 * 1024
Take = Callable[["InMemoryMessage"], Coroutine[Any, Any, None]]


def matches(pattern: str, subject: str) -> bool:
    """Whether a subject matches a NATS pattern with `*` and `>`."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else []
        return bool(given) and all(a in ("*", b) for a, b in zip(wanted, given, strict=True))
    return len(wanted) == len(given) and all(a in ("*", b) for a, b in zip(wanted, given, strict=True))


@dataclass(frozen=True)
class Delivered:
    """The answer to a publish."""

    stream: str
    seq: int
    duplicate: bool = False


@dataclass
class InMemoryMessage:
    """A message as nats-py gives it: stored ones have metadata and are acknowledged, others have a `reply`."""

    subject: str
    data: bytes
    headers: dict[str, str]
    seq: int = 0
    stream: str = ""
    at: datetime | None = None
    reply: "asyncio.Future[InMemoryMessage] | None" = None
    deliveries: int = 0
    consumer: "Pending | None" = None

    @property
    def size(self) -> int:
        """The bytes that it takes in a stream, without those that a server adds."""
        headers = sum(len(key) + len(value) for key, value in self.headers.items())
        return len(self.subject) + len(self.data) + headers

    @property
    def metadata(self) -> Any:
        sequence = SimpleNamespace(stream=self.seq)
        return SimpleNamespace(
            stream=self.stream, sequence=sequence, num_delivered=self.deliveries, timestamp=self.at, num_pending=0
        )

    @property
    def time(self) -> datetime | None:
        return self.at

    async def respond(self, data: bytes) -> None:
        if self.reply is not None and not self.reply.done():
            self.reply.set_result(InMemoryMessage(self.subject, data, {}))

    async def ack_sync(self, timeout: float = 5) -> None:
        await self.ack()

    async def ack(self) -> None:
        if self.consumer is not None:
            await self.consumer.done(self)

    async def term(self) -> None:
        await self.ack()

    async def nak(self, delay: float | None = None) -> None:
        if self.consumer is not None:
            await self.consumer.again(self, delay or 0)

    async def in_progress(self) -> None:
        """The message stays with its worker in any case."""


@dataclass
class StreamLog:
    """What a stream keeps, within its limit of bytes, and its `history`: all that was ever published. Ids are
    remembered for as long as the test runs."""

    stream: Stream
    messages: dict[int, InMemoryMessage] = field(default_factory=dict)
    history: list[InMemoryMessage] = field(default_factory=list)
    size: int = 0
    _ids: dict[str, int] = field(default_factory=dict)
    last: int = 0

    @property
    def name(self) -> str:
        return self.stream.name

    def takes(self, subject: str) -> bool:
        return any(matches(pattern, subject) for pattern in self.stream.subjects)

    def append(
        self, subject: str, data: bytes, headers: Mapping[str, str], *, at: datetime
    ) -> tuple[Delivered, InMemoryMessage | None]:
        """Keep a message, unless its id is known. Raises APIError if the subject's last sequence is not as expected."""
        msg_id = headers.get(MSG_ID)
        if msg_id is not None and msg_id in self._ids:
            return Delivered(self.name, self._ids[msg_id], duplicate=True), None
        expected = headers.get(EXPECTED_LAST)
        if expected is not None and int(expected) != (last := self.last_seq(subject)):
            raise APIError(code=400, err_code=WRONG_LAST_SEQUENCE, description=f"wrong last sequence: {last}")
        message = InMemoryMessage(subject, data, dict(headers), self.last + 1, self.name, at)
        self._make_room(message.size)
        self.last += 1
        if self.stream.latest_only and (before := self.last_seq(subject)):
            self.remove(before)
        self.messages[self.last] = message
        self.size += message.size
        self.history.append(message)
        if msg_id is not None:
            self._ids[msg_id] = self.last
        return Delivered(self.name, self.last), message

    def _make_room(self, size: int) -> None:
        """For a message of this size: drop the oldest, or raise as a full server does."""
        while self.size + size > self.stream.max_bytes:
            if self.stream.discard == "new" or not self.messages:
                raise ServiceUnavailableError(code=503, err_code=FULL, description="maximum bytes exceeded")
            self.remove(next(iter(self.messages)))

    def remove(self, seq: int) -> bool:
        message = self.messages.pop(seq, None)
        self.size -= message.size if message else 0
        return message is not None

    def handled(self, seq: int) -> None:
        """Every consumer of its subject has handled the message: it is kept only where that doesn't matter."""
        if self.stream.retention != "limits":
            self.remove(seq)

    def last_seq(self, subject: str) -> int:
        return max((seq for seq, each in self.messages.items() if matches(subject, each.subject)), default=0)

    def batch(self, request: Mapping[str, Any]) -> list[dict[str, str]]:
        """The headers that answer a direct get of many: each message from a number on, then the end."""
        found = [
            headers_of(each)
            for number, each in self.messages.items()
            if number >= request["seq"] and matches(request["next_by_subj"], each.subject)
        ]
        return [*found, {"Status": "204" if found else "404", "Nats-Num-Pending": "0"}]


def headers_of(message: InMemoryMessage) -> dict[str, str]:
    """The headers with which a direct get answers."""
    stored_at = message.at.isoformat() if message.at else ""
    place = {"Nats-Stream": message.stream, "Nats-Subject": message.subject, "Nats-Sequence": str(message.seq)}
    return message.headers | place | {"Nats-Time-Stamp": stored_at}


class Pending:
    """A durable consumer: what it has still to deliver, and what its workers have in hand."""

    def __init__(self, config: Consumer, changed: Any) -> None:
        self.config, self._changed = config, changed
        self.bound = False
        self._waiting: deque[InMemoryMessage] = deque()
        self._in_hand: dict[int, InMemoryMessage] = {}
        self._delayed: set[asyncio.Task[None]] = set()
        self._pulls: deque[InMemoryPull] = deque()
        self._unhandled: set[int] = set()
        self.last = 0

    @property
    def idle(self) -> bool:
        """Nothing is left to handle; a consumer without a running worker has nothing to handle."""
        return not self.bound or not (self._waiting or self._in_hand or self._delayed)

    def holds(self, seq: int) -> bool:
        """Whether this message isn't handled yet."""
        return seq in self._unhandled

    @property
    def ack_floor(self) -> int:
        """The number up to which all its messages are handled."""
        return min(self._unhandled) - 1 if self._unhandled else self.last

    def describe(self) -> str:
        return f"{len(self._waiting)} waiting, {len(self._in_hand)} in hand, {len(self._delayed)} to come again"

    def put(self, message: InMemoryMessage) -> None:
        copy = InMemoryMessage(
            message.subject, message.data, dict(message.headers), message.seq, message.stream, message.at, consumer=self
        )
        self._waiting.append(copy)
        self._unhandled.add(copy.seq)
        self.last = copy.seq
        self.hand_out()

    def pull(self, take: Take) -> "InMemoryPull":
        pull = InMemoryPull(self, take)
        self._pulls.append(pull)
        return pull

    def leave(self, pull: "InMemoryPull") -> None:
        if pull in self._pulls:
            self._pulls.remove(pull)

    def hand_out(self) -> None:
        """To the workers in turn, so that none starves."""
        while self._waiting and (pull := next((each for each in self._pulls if each.standing()), None)):
            self._pulls.remove(pull)
            self._pulls.append(pull)
            message = self._waiting.popleft()
            message.deliveries += 1
            self._in_hand[message.seq] = message
            pull.give(message)

    async def done(self, message: InMemoryMessage) -> None:
        self._in_hand.pop(message.seq, None)
        self._unhandled.discard(message.seq)
        await self._changed(message)

    async def again(self, message: InMemoryMessage, delay: float) -> None:
        if self._in_hand.pop(message.seq, None) is None:
            return
        task = asyncio.create_task(self._return(message, delay))
        self._delayed.add(task)
        task.add_done_callback(self._delayed.discard)

    async def _return(self, message: InMemoryMessage, delay: float) -> None:
        await asyncio.sleep(delay)
        self._waiting.append(message)
        self.hand_out()


class InMemoryPull:
    """A worker's pull, as `rota_common.bus.standing_pull` describes it."""

    def __init__(self, consumer: Pending, take: Take) -> None:
        self._consumer, self._take = consumer, take
        self._giving: set[asyncio.Task[None]] = set()
        self._left = 0

    def standing(self) -> bool:
        return self._left > 0

    async def ask(self, free: int) -> None:
        self._left = self._left or max(0, free - len(self._giving))
        self._consumer.hand_out()

    async def close(self) -> None:
        self._consumer.leave(self)
        await asyncio.gather(*self._giving)

    def give(self, message: InMemoryMessage) -> None:
        self._left -= 1
        task = asyncio.create_task(self._take(message))
        self._giving.add(task)
        task.add_done_callback(self._giving.discard)
