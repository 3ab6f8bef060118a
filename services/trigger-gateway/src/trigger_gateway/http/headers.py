"""What the endpoints read from headers."""

from collections.abc import Mapping

from trigger_gateway.problems import FieldProblem, Invalid

KEY_LIMIT = 255
_NAMES = ("idempotency-key", "x-idempotency-key")


def idempotency_key(headers: Mapping[str, str], in_body: str | None = None, *, limit: int = KEY_LIMIT) -> str | None:
    """The sender's own name of its request: in a header, or `request_id` in the body."""
    given = {key for key in (*(headers.get(name) for name in _NAMES), in_body) if key}
    if len(given) > 1:
        raise _wrong("expected one key, not different ones in headers and body")
    key = next(iter(given), None)
    if key is not None and len(key) > limit:
        raise _wrong(f"expected at most {limit} characters")
    return key


def _wrong(message: str) -> Invalid:
    return Invalid("invalid_request", "the request is not valid", [FieldProblem("Idempotency-Key", message)])
