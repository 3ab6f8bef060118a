"""Parts that the endpoints share: the use cases, idempotency keys."""

from collections.abc import Mapping
from typing import Annotated, cast

from fastapi import Depends, Request
from nats.js import JetStreamContext

from rota_common.errors import Permanent, Transient
from rota_common.page_cursor import PageCursor, parse_cursor
from trigger_gateway.problems import FieldProblem, Invalid, Malformed
from trigger_gateway.use_cases import UseCases

KEY_LIMIT = 255
KEY_HEADERS = ("idempotency-key", "x-idempotency-key")


def use_cases_of(request: Request) -> UseCases:
    return cast(UseCases, request.app.state.use_cases)


UseCasesDep = Annotated[UseCases, Depends(use_cases_of)]


def jetstream_of(use: UseCases) -> JetStreamContext:
    """Raises Transient when NATS is away, where the client would wait for it."""
    if not use.bus.connected:
        raise Transient("NATS: not connected")
    return use.bus.jetstream


def idempotency_key(headers: Mapping[str, str], in_body: str | None = None, *, limit: int = KEY_LIMIT) -> str | None:
    """The idempotency key of a request: from a header, or `request_id` of the body."""
    given = {key for key in (*(headers.get(name) for name in KEY_HEADERS), in_body) if key}
    if len(given) > 1:
        raise _invalid_key("expected one key, not different ones in headers and body")
    key = next(iter(given), None)
    if key is not None and len(key) > limit:
        raise _invalid_key(f"expected at most {limit} characters")
    return key


def check_json(request: Request) -> None:
    """Raise Malformed for a body that doesn't say that it is JSON."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Malformed("malformed_json", "expected a body with Content-Type: application/json")


def page_cursor(after: str) -> PageCursor | None:
    """The cursor of a page of the gateway's own lists; Invalid for what is none."""
    try:
        return parse_cursor(after)
    except Permanent as error:
        problem = FieldProblem("after", "expected `next` of the page before")
        raise Invalid("invalid_request", "the request is not valid", fields=[problem]) from error


def _invalid_key(message: str) -> Invalid:
    return Invalid("invalid_request", "the request is not valid", fields=[FieldProblem("Idempotency-Key", message)])
