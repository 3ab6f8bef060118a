"""The failure policy: retry, bury or acknowledge a message, decided here and nowhere else.

`Transient` is redelivered after a growing, jittered delay, for a day at most; `Permanent` and unreadable messages are
buried at once; anything else is a bug, tried 5 times and then buried. Burying is a copy to the dead letters, then TERM.
"""

import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from nats.aio.msg import Msg
from nats.errors import MaxPayloadError
from nats.js import JetStreamContext
from nats.js.errors import APIError
from pydantic import ValidationError

from rota_common.errors import Permanent, Transient
from rota_common.retries import backoff
from rota_contracts.catalog import dead_subject
from rota_contracts.envelope import MSG_ID, EnvelopeError

MAX_BUG_DELIVERIES = 5
PATIENCE = timedelta(days=1)
"""How long a message may fail transiently before it is buried."""

RETRY_CAP_S = 30.0
DEAD_STREAM = "DEAD"
DEAD_PREFIX = "rota-dead-"
LEFT_OUT = f"{DEAD_PREFIX}left-out"
"""The header of a letter without its payload: how long it was, and where."""

REASON_LIMIT = 2000
UNBURIED_CAP_S = 300.0


@dataclass(frozen=True, slots=True)
class Later:
    """Redeliver the message after `delay` seconds."""

    delay: float
    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """Move the message to the dead letters."""

    reason: str
    trace: str


def decide(
    error: Exception, *, deliveries: int, age: timedelta, random: Random, outages: tuple[type[Exception], ...] = ()
) -> Later | Bury:
    """Decide about `error` at the `deliveries`-th delivery of a message that is `age` old.

    `outages` are the errors of the service's own store when it can't be reached: they count as transient.
    """
    if isinstance(error, (Permanent, EnvelopeError, ValidationError)):
        return Bury(_reason(error), _last_line(error))
    passing = isinstance(error, (Transient, *outages))
    if age > PATIENCE if passing else deliveries >= MAX_BUG_DELIVERIES:
        return Bury(_reason(error), _last_line(error))
    asked = error.after if isinstance(error, Transient) else None
    delay = asked if asked is not None else backoff(deliveries, random=random, cap=RETRY_CAP_S)
    return Later(delay, _reason(error))


async def acknowledge(message: Msg) -> None:
    """Acknowledge, and wait for the server's confirmation: a plain ack can be lost with the process."""
    await message.ack_sync(timeout=5)


async def hand_back(message: Msg, delay: float | None = None) -> None:
    """Return the message: it is redelivered to any worker after `delay` seconds."""
    await message.nak(delay=delay)


async def still_working(message: Msg) -> None:
    """Extend the ack wait, as the handler is still running."""
    await message.in_progress()


async def bury(message: Msg, jetstream: JetStreamContext, *, consumer: str, verdict: Bury, at: datetime) -> None:
    """Copy the message to the dead letters, then remove it from its consumer, so that nothing is lost in between.

    Where the letter is refused as it is, because the stream is full or the letter too large, one without the payload
    has to do: its ids, its reason, and where the message was. Raises nats.errors.Error if that is refused too.
    """
    meta = message.metadata
    headers = {key: value for key, value in (message.headers or {}).items() if not key.startswith("Nats-Expected")}
    headers |= {
        MSG_ID: f"dead:{meta.stream}:{meta.sequence.stream}:{consumer}",
        f"{DEAD_PREFIX}subject": message.subject,
        f"{DEAD_PREFIX}consumer": consumer,
        f"{DEAD_PREFIX}reason": _header_text(verdict.reason),
        f"{DEAD_PREFIX}traceback": _header_text(verdict.trace),
        f"{DEAD_PREFIX}deliveries": str(meta.num_delivered),
        f"{DEAD_PREFIX}at": at.isoformat(),
    }
    subject = dead_subject(message.subject)
    try:
        await jetstream.publish(subject, message.data, headers=headers, stream=DEAD_STREAM, timeout=5)
    except (APIError, MaxPayloadError):
        left_out = f"{len(message.data)} bytes of {meta.stream} {meta.sequence.stream}"
        headers |= {LEFT_OUT: left_out, MSG_ID: f"{headers[MSG_ID]}:short"}
        await jetstream.publish(subject, b"", headers=headers, stream=DEAD_STREAM, timeout=5)
    await message.term()


def _reason(error: Exception) -> str:
    kind = "" if isinstance(error, (Permanent, Transient)) else f"{type(error).__name__}: "
    return f"{kind}{error}"[:REASON_LIMIT]


def _last_line(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _header_text(text: str) -> str:
    """Header values are one line of ASCII."""
    return " ".join(text.split()).encode("ascii", "backslashreplace").decode()
