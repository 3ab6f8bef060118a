"""Values of a key-value bucket that never go back: each has a number that grows, in a field of it."""

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue
from pydantic import BaseModel
from pydantic_core import from_json

TRIES = 10


async def put_if_newer(bucket: KeyValue, key: str, value: BaseModel, *, by: str) -> bool:
    """Put it unless one is there whose field `by` isn't lower. False if others always write between."""
    for _ in range(TRIES):
        there, last = await found_in(bucket, key, by=by)
        if there >= getattr(value, by):
            return True
        try:
            await bucket.update(key, value.model_dump_json().encode(), last=last)
        except KeyWrongLastSequenceError:
            continue
        return True
    return False


async def found_in(bucket: KeyValue, key: str, *, by: str) -> tuple[int, int]:
    """The field `by` of the value that is there, whichever version wrote the rest, and its sequence number; 0 where
    there is none."""
    try:
        found = await bucket.get(key)
        return int(from_json(found.value or b"")[by]), found.revision or 0
    except KeyNotFoundError as missing:  # also for a key that was purged by hand: then it still has a revision
        return 0, (missing.entry.revision or 0) if missing.entry else 0
