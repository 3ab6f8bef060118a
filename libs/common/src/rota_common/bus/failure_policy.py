"""The failure policy: retry, bury or acknowledge a message, decided here and nowhere else.

`Permanent` failures and what was never an event are buried at once; a bug is tried 5 times and then buried. All that
may pass is redelivered after a growing, jittered delay, until it has failed for a day: `Transient`, an outage, and
whatever this version can't read, because another version may. Burying is a copy to the dead letters, then TERM.
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
from rota_common.redaction import without_credentials
from rota_common.retries import backoff
from rota_contracts.catalog import dead_subject
from rota_contracts.envelope import MSG_ID, EnvelopeError, OtherVersion

MAX_BUG_DELIVERIES = 5
PATIENCE = timedelta(days=1)
"""How long a message may fail in passing before it is buried, from its first failure on."""

MIN_DELIVERIES = 10
"""Before so many, no failure that may pass buries a message."""

MANY_DELIVERIES = 5_000
"""After so many, a message older than the patience is buried even if no process has seen it fail for that long."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A delivery that failed: the number of deliveries so far, the message's age, and how long it has been failing.

    `parsed`: the message could be read, so that the failure is the handler's.
    """

    deliveries: int
    age: timedelta
    failing: timedelta
    parsed: bool = True

    @property
    def exhausted(self) -> bool:
        """Whether a failure that may pass has lasted too long."""
        if self.age <= PATIENCE or self.deliveries < MIN_DELIVERIES:
            return False
        return self.failing > PATIENCE or self.deliveries >= MANY_DELIVERIES


def decide(
    error: Exception, attempt: Attempt, *, random: Random, outages: tuple[type[Exception], ...] = ()
) -> Later | Bury:
    """Decide about the failure of an attempt.

    `outages` are the errors of the service's own store when it can't be reached: they count as transient.
    """
    if isinstance(error, Permanent) or (not attempt.parsed and _is_no_event(error)):
        return Bury(_reason(error), _last_line(error))
    passing = isinstance(error, (Transient, ValidationError, OtherVersion, *outages))
    if attempt.exhausted if passing else attempt.deliveries >= MAX_BUG_DELIVERIES:
        return Bury(_reason(error), _last_line(error))
    asked = error.after if isinstance(error, Transient) else None
    delay = asked if asked is not None else backoff(attempt.deliveries, random=random, cap=RETRY_CAP_S)
    return Later(delay, _reason(error))


async def acknowledge(message: Msg) -> None:
    """Acknowledge without waiting for the server's confirmation: if it is lost with the process, the message is
    delivered again, and its consumer knows it."""
    await message.ack()


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


def _is_no_event(error: Exception) -> bool:
    """Every version of a message has our headers, and a body that is a JSON object."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return first["type"] == "json_invalid" or (first["type"] == "model_type" and not first["loc"])
    return isinstance(error, EnvelopeError) and not isinstance(error, OtherVersion)


def _reason(error: Exception) -> str:
    kind = "" if isinstance(error, (Permanent, Transient)) else f"{type(error).__name__}: "
    return without_credentials(f"{kind}{error}")[:REASON_LIMIT]


def _last_line(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno} in {frames[-1].name}" if frames else ""


def _header_text(text: str) -> str:
    """Header values are one line of ASCII."""
    return " ".join(text.split()).encode("ascii", "backslashreplace").decode()
