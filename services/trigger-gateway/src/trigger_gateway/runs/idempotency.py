"""Idempotency keys: a repeat of a request is found by the key of its sender."""

import hashlib
from typing import Any

from pydantic_core import to_json

from trigger_gateway.problems import Conflict
from trigger_gateway.runs.ports import EarlierRequest, Requests


async def find_repeat(requests: Requests, request_id: str, request: Any) -> EarlierRequest | None:
    """The first request under this id; None if this is the first. Conflict if the requests differ."""
    digest = hashlib.sha256(to_json(request)).hexdigest()
    first = await requests.remember(request_id, digest)
    if first is not None and first.digest != digest:
        raise Conflict("idempotency_key_reused", "this idempotency key came with another request before: use a new one")
    return first
