"""Dead letters: list them, read one, redrive one."""

import contextlib
from datetime import UTC, datetime, timedelta

from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError
from pydantic import AwareDatetime, BaseModel

from rota_common.bus.failure_policy import DEAD_PREFIX, DEAD_STREAM
from rota_common.clock import Clock, now
from rota_common.errors import Permanent
from rota_contracts.catalog import dead_subject
from rota_contracts.envelope import MSG_ID
from rota_contracts.streams import HANDLING_STREAM, REDRIVE, handling_subject

PREVIEW = 500
RECOGNISED_FOR = timedelta(minutes=8)
"""Less than the duplicate window of any stream, by the difference of two clocks."""
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


class RedriveInterrupted(Permanent):
    """An earlier redrive of this letter ended half-way, too long ago for the stream to recognise a repeat."""


async def listed(jetstream: JetStreamContext, *, limit: int = 100) -> list[DeadLetter]:
    """The oldest dead letters, at most `limit`; payloads are truncated."""
    found: list[DeadLetter] = []
    seq = 1
    with contextlib.suppress(NotFoundError):  # after the last one
        while len(found) < limit:
            message = await jetstream.get_msg(DEAD_STREAM, seq=seq, subject=ALL, next=True)
            letter = _letter(message.seq or seq, message)
            found.append(letter.model_copy(update={"payload": letter.payload[:PREVIEW]}))
            seq = letter.seq + 1
    return found


async def find(jetstream: JetStreamContext, seq: int) -> DeadLetter | None:
    """One dead letter with its whole payload."""
    try:
        message = await jetstream.get_msg(DEAD_STREAM, seq)
    except NotFoundError:
        return None
    return _letter(seq, message)


async def redrive(
    jetstream: JetStreamContext, seq: int, *, force: bool = False, clock: Clock = now
) -> DeadLetter | None:
    """Publish a dead letter on its subject again and remove it; None if there is none with this number.

    All consumers of the subject receive it again; they are idempotent. Its `Nats-Msg-Id` is new, so the stream stores
    it, and derived from `seq`, so redriving it twice within the stream's duplicate window stores it once. A mark says
    when it began: after that window a repeat may be a second copy, and needs `force`. Raises RedriveInterrupted, and
    Permanent for one whose payload was left out.
    """
    letter = await find(jetstream, seq)
    if letter is None:
        return None
    if letter.left_out:
        raise Permanent(
            f"dead letter {seq} has no payload ({letter.left_out}), as the dead letters were full: it can't be sent"
            " back, start the run again instead"
        )
    await _begin(jetstream, seq, force=force, at=clock())
    message = await jetstream.get_msg(DEAD_STREAM, seq)
    dropped = (DEAD_PREFIX, "Nats-Expected")
    headers = {key: value for key, value in letter.headers.items() if not key.startswith(dropped)}
    headers[MSG_ID] = f"{headers.get('ce-id', 'unknown')}:dead-{seq}"
    await jetstream.publish(letter.subject, message.data or b"", headers=headers, timeout=5)
    await jetstream.delete_msg(DEAD_STREAM, seq)
    return letter


async def _begin(jetstream: JetStreamContext, seq: int, *, force: bool, at: datetime) -> None:
    subject = handling_subject(REDRIVE, seq)
    try:
        mark = await jetstream.get_last_msg(HANDLING_STREAM, subject, direct=True)
    except NotFoundError:
        mark = None
    if mark is not None and not force:
        began = datetime.fromisoformat((mark.data or b"").decode())
        if at - began > RECOGNISED_FOR:
            raise RedriveInterrupted(
                f"a redrive of dead letter {seq} was interrupted at {began:%Y-%m-%d %H:%M:%S} UTC, so it may have been "
                "published already: look whether it had its effect, and use force to publish it all the same"
            )
        return
    await jetstream.publish(subject, at.isoformat().encode(), stream=HANDLING_STREAM, timeout=5)


def _letter(seq: int, message: RawStreamMsg) -> DeadLetter:
    """Also of a message that something else put among the dead letters, without our headers."""
    headers, data = message.headers or {}, message.data or b""

    def value(name: str) -> str:
        return str(headers.get(f"{DEAD_PREFIX}{name}", ""))

    return DeadLetter(
        seq=seq,
        subject=value("subject") or (message.subject or "").removeprefix(dead_subject("")),
        consumer=value("consumer"),
        reason=value("reason"),
        traceback=value("traceback"),
        deliveries=int(deliveries) if (deliveries := value("deliveries")).isdecimal() else 0,
        buried_at=_instant(value("at")) or message.time or datetime.fromtimestamp(0, UTC),
        headers=dict(headers),
        payload=data.decode(errors="replace"),
        left_out=value("left-out"),
    )


def _instant(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
