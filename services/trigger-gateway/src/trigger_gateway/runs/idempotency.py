"""Idempotency keys: a repeat of a request is found by the key of its sender."""

import hashlib
from typing import Any

from pydantic_core import from_json, to_json

from rota_contracts.json_values import canonical
from trigger_gateway.problems import Conflict
from trigger_gateway.runs.ports import EarlierRequest, Requests


async def find_repeat(requests: Requests, request_id: str, request: Any) -> EarlierRequest | None:
    """The first request under this id; None if this is the first. Conflict if the requests differ."""
    written = to_json(request)
    digest = _digest(canonical(from_json(written)).encode())
    first = await requests.remember(request_id, digest)
    if first is not None and first.digest not in (digest, _digest(written)):  # earlier it was that of the bytes
        raise Conflict("idempotency_key_reused", "this idempotency key came with another request before: use a new one")
    return first


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
