"""Derived ids: the same cause gives the same id, so that duplicates are recognised. And random ones."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from uuid import UUID, uuid5

NAMESPACE = UUID("5f8e3f0e-6a0b-5d2c-9a55-0c0d5b6f7a11")

_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Made once: `json.dumps` would make an encoder for each id."""


_random = Random()


def random_id() -> str:
    """A UUID (text form) that is unique, and no secret. Asking the system for one, as `uuid4` does, is a system call,
    in which another thread takes the interpreter's lock."""
    return str(UUID(int=_random.getrandbits(128), version=4))


@lru_cache(maxsize=4096, typed=True)
def derived_id(*parts: str | int | datetime) -> str:
    """A UUID (text form) that depends on `parts` alone.

    The parts are joined as a JSON array, so ("a", "b_c") and ("a_b", "c") differ. Instants count as UTC; one
    without an offset raises ValueError, because every machine would read it in its own zone.
    """
    plain = [_instant(part) if isinstance(part, datetime) else part for part in parts]
    return str(uuid5(NAMESPACE, _json(plain)))


def _instant(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"expected an instant with an offset, not {moment.isoformat()}")
    return moment.astimezone(UTC).isoformat()


def event_trigger_id(team: str, source: str, sender_id: str, member: str) -> str:
    """The id of the trigger of one event for one robot; `sender_id` is the sender's id of the event."""
    return derived_id("trigger", team, source, sender_id, member)


def request_trigger_id(team: str, member: str, key: str) -> str:
    """The id of the trigger of a request by hand; `key` is its idempotency key. A word of its own: an event's id may be
    any text, so that a family that differs from events by a part alone would meet them."""
    return derived_id("requested trigger", team, member, key)


def retry_trigger_id(team: str, execution_id: str) -> str:
    """The id of the trigger that retries an execution: one for each, however often it is asked for. A word of its own,
    as above."""
    return derived_id("retried trigger", team, execution_id)


def clock_trigger_id(team: str, member: str, scheduled_at: datetime) -> str:
    """The id of the trigger of a robot's clock at this instant."""
    return derived_id("trigger", team, member, scheduled_at)


def execution_id(trigger_id: str) -> str:
    """The id of the execution of a trigger: one for each trigger."""
    return derived_id("execution", trigger_id)


def fact_id(cause: str, subject: str, step: str = "") -> str:
    """The id of the fact that `cause` has on `subject`; `step` distinguishes several of one cause."""
    return derived_id("fact", cause, subject, step)
