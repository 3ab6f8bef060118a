"""Dead letters: list them, read one, redrive one."""

import contextlib
from collections.abc import Mapping
from datetime import datetime

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from pydantic import AwareDatetime, BaseModel

from rota_common.bus.failure_policy import DEAD_PREFIX, DEAD_STREAM
from rota_common.errors import Permanent
from rota_contracts.catalog import dead_subject
from rota_contracts.envelope import MSG_ID

PREVIEW = 500
ALL = dead_subject(">")


class DeadLetter(BaseModel):
    """A buried message. `seq` is its number in the dead letters; `payload` is its body as text. `left_out`: it isn't
    there, and what it was."""

    seq: int
    subject: str
    consumer: str
    reason: str
    traceback: str
    deliveries: int
    buried_at: AwareDatetime
    headers: dict[str, str]
    payload: str
    left_out: str = ""


async def listed(jetstream: JetStreamContext, *, limit: int = 100) -> list[DeadLetter]:
    """The oldest dead letters, at most `limit`; payloads are truncated."""
    found: list[DeadLetter] = []
    seq = 1
    with contextlib.suppress(NotFoundError):  # after the last one
        while len(found) < limit:
            message = await jetstream.get_msg(DEAD_STREAM, seq=seq, subject=ALL, next=True)
            letter = _letter(message.seq or seq, message.headers or {}, message.data or b"")
            found.append(letter.model_copy(update={"payload": letter.payload[:PREVIEW]}))
            seq = letter.seq + 1
    return found


async def find(jetstream: JetStreamContext, seq: int) -> DeadLetter | None:
    """One dead letter with its whole payload."""
    try:
        message = await jetstream.get_msg(DEAD_STREAM, seq)
    except NotFoundError:
        return None
    return _letter(seq, message.headers or {}, message.data or b"")


async def redrive(jetstream: JetStreamContext, seq: int) -> DeadLetter | None:
    """Publish a dead letter on its subject again and remove it; None if there is none with this number. Raises
    Permanent for one whose payload was left out.

    All consumers of the subject receive it again; they are idempotent. Its `Nats-Msg-Id` is new, so the stream stores
    it, and derived from `seq`, so redriving it twice stores it once.
    """
    letter = await find(jetstream, seq)
    if letter is None:
        return None
    if letter.left_out:
        raise Permanent(
            f"dead letter {seq} has no payload ({letter.left_out}), as the dead letters were full: it can't be sent"
            " back, start the run again instead"
        )
    message = await jetstream.get_msg(DEAD_STREAM, seq)
    dropped = (DEAD_PREFIX, "Nats-Expected")
    headers = {key: value for key, value in letter.headers.items() if not key.startswith(dropped)}
    headers[MSG_ID] = f"{headers.get('ce-id', 'unknown')}:dead-{seq}"
    await jetstream.publish(letter.subject, message.data or b"", headers=headers, timeout=5)
    await jetstream.delete_msg(DEAD_STREAM, seq)
    return letter


def _letter(seq: int, headers: Mapping[str, str], data: bytes) -> DeadLetter:
    def value(name: str) -> str:
        return headers.get(f"{DEAD_PREFIX}{name}", "")

    return DeadLetter(
        seq=seq,
        subject=value("subject"),
        consumer=value("consumer"),
        reason=value("reason"),
        traceback=value("traceback"),
        deliveries=int(value("deliveries") or 0),
        buried_at=datetime.fromisoformat(value("at")),
        headers=dict(headers),
        payload=data.decode(errors="replace"),
        left_out=value("left-out"),
    )
