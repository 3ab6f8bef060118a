"""Idempotency keys: a repeat of a request is found by the key of its sender."""

import hashlib
from typing import Any

from pydantic_core import from_json, to_json

from rota_contracts.json_values import canonical
from trigger_gateway.problems import Conflict
from trigger_gateway.runs.ports import EarlierRequest, Requests

LATER = ("follows", "user")
"""Fields that requests of earlier versions hadn't; their digests are kept for weeks."""


async def find_repeat(requests: Requests, request_id: str, request: Any) -> EarlierRequest | None:
    """The first request under this id; None if this is the first. Conflict if the requests differ."""
    written = to_json(request)
    given = from_json(written)
    if isinstance(given, dict):  # a request without a field that came later reads as it did before
        given = {name: value for name, value in given.items() if value is not None or name not in LATER}
    digest = _digest(canonical(given).encode())
    first = await requests.remember(request_id, digest)
    if first is not None and first.digest not in (digest, _digest(written)):  # earlier it was that of the bytes
        raise Conflict("idempotency_key_reused", "this idempotency key came with another request before: use a new one")
    return first


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
