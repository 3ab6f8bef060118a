"""Derived ids: doing a thing twice makes the same id twice, so the second can be recognised and dropped."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from uuid import UUID, uuid5

NAMESPACE = UUID("5f8e3f0e-6a0b-5d2c-9a55-0c0d5b6f7a11")

_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Made once: `json.dumps` would make an encoder for each id."""


@lru_cache(maxsize=4096, typed=True)
def derived_id(*parts: str | int | datetime) -> str:
    """A UUID (text form) that depends on `parts` alone.

    The parts are joined as a JSON array, so ("a", "b_c") and ("a_b", "c") can't meet. Instants count as UTC; one
    without an offset raises ValueError, because every machine would read it in its own zone.
    """
    plain = [_instant(part) if isinstance(part, datetime) else part for part in parts]
    return str(uuid5(NAMESPACE, _json(plain)))


def _instant(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError(f"expected an instant with an offset, not {moment.isoformat()}")
    return moment.astimezone(UTC).isoformat()


def event_trigger_id(team: str, source: str, sender_id: str, member: str) -> str:
    """The trigger that one event of a source is for one robot; `sender_id` is the sender's own id of it."""
    return derived_id("trigger", team, source, sender_id, member)


def clock_trigger_id(team: str, member: str, scheduled_at: datetime) -> str:
    """The trigger that a robot's clock is at this instant, whoever finds it due and however often."""
    return derived_id("trigger", team, member, scheduled_at)


def execution_id(trigger_id: str) -> str:
    """The execution that a trigger starts: one trigger, one execution, however often it arrives."""
    return derived_id("execution", trigger_id)


def fact_id(cause: str, subject: str, step: str = "") -> str:
    """The id of the fact that follows from `cause` on `subject`; `step` tells several of one cause apart."""
    return derived_id("fact", cause, subject, step)
