"""Webhooks over HTTP, signed as Standard Webhooks, and sent only to addresses that were checked before."""

import asyncio
import contextlib
import json
import os
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from delivery_center.adapters.checked_connections import checked_transport, connecting_to
from delivery_center.adapters.webhook_signing import signatures
from delivery_center.domain.outgoing_message import OutgoingMessage
from delivery_center.ports import Gone, NotAttempted, Sent, TransientReply
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_common.team_secrets import MissingTeamSecret, TeamSecrets
from rota_common.urls import Network, Resolver, checked_target
from rota_common.urls import resolve as system_resolver
from rota_contracts.messages.notice import NoticeRequestedV1
from rota_contracts.robots.preferences import WebhookTarget
from rota_contracts.robots.target_checks import header_name_problem, header_value_problem

EXCERPT_BYTES = 2048
EXCERPT_S = 1.0
"""How long to wait for the body of a response: its status alone decides."""

GONE = 410
RARE = ("failed", "rehearsed", "released_by", "trigger_id")
"""Left out of the context where there is none, so that a body stays the same at every attempt."""


BROKEN = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)
"""What a kept connection that its server has just closed raises."""


def webhook_client(
    *, verify: ssl.SSLContext | bool = True, network: httpcore.AsyncNetworkBackend | None = None
) -> httpx.AsyncClient:
    """A client for all receivers. It has no timeouts of its own: the channel sets one for the whole attempt. Cookies
    aren't kept: one receiver's would be sent to another."""
    return httpx.AsyncClient(
        timeout=None,  # noqa: S113  # each step would have its own, which a receiver that drips never exceeds
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        transport=checked_transport(verify=verify, network=network),
        trust_env=False,
        follow_redirects=False,
    )


class HttpxWebhook:
    """`timeout`: seconds from resolving the name to the head of the response.

    `secrets` resolves references in signing secrets and header values, among those of the delivery's team alone.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        timeout: float,
        secrets: TeamSecrets,
        allowed: Sequence[Network] = (),
        resolver: Resolver = system_resolver,
    ) -> None:
        self._client = client
        self._timeout = timeout
        self._secrets = secrets
        self._allowed = allowed
        self._resolver = resolver

    async def send(self, target: WebhookTarget, outgoing: OutgoingMessage) -> Sent:
        body = payload(outgoing)
        secrets = await self._resolved(target, outgoing.context.team_id)
        headers = _headers(target, outgoing, body, secrets)
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._response(target, headers, body)
        except TimeoutError as error:
            raise Transient(f"no answer within {self._timeout:g} s") from error
        try:
            excerpt = _without(secrets.values(), await _excerpt(response))
            return result_of(response, excerpt, now=outgoing.at)
        finally:
            await response.aclose()

    async def _response(self, target: WebhookTarget, headers: dict[str, str], body: str) -> httpx.Response:
        """The head of the response."""
        where = await checked_target(target.url, allowed=self._allowed, resolver=self._resolver)
        try:
            return await self._sent(target, where.address, headers, body)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise Permanent(f"expected a request that HTTP allows: {error}") from error
        except httpx.ConnectError as error:
            raise Transient(f"can't reach {where.host}:{where.port}: {_system_error(error)}") from error
        except httpx.HTTPError as error:
            raise Transient(f"can't reach {where.host}: {type(error).__name__} {error}".strip()) from error

    async def _sent(self, target: WebhookTarget, address: str, headers: dict[str, str], body: str) -> httpx.Response:
        """The answer; asked for once more where a kept connection turns out to be closed."""
        request = self._client.build_request(target.method, target.url, headers=headers, content=body.encode())
        with connecting_to(address) as connecting:
            try:
                return await self._client.send(request, stream=True)
            except BROKEN:
                if connecting.opened:
                    raise
                return await self._client.send(request, stream=True)

    async def _resolved(self, target: WebhookTarget, team: str) -> Mapping[str, str]:
        """The references of the target, with their values."""
        texts = [*target.headers.values(), *([target.secret] if target.secret else [])]
        try:
            return await self._secrets.resolve(team, texts)
        except MissingTeamSecret as error:  # it is tried again, and may be set by then
            raise Transient(str(error)) from error
        except Transient as error:
            raise NotAttempted(f"the team's secrets can't be read now: {error}") from error


def _headers(target: WebhookTarget, outgoing: OutgoingMessage, body: str, secrets: Mapping[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "rota-delivery/1", "accept-encoding": "identity"}
    if outgoing.traceparent:
        headers["traceparent"] = outgoing.traceparent
    headers |= {name.lower(): _value(name, secrets.get(value, value)) for name, value in target.headers.items()}
    timestamp = int(outgoing.at.timestamp())
    headers |= {"webhook-id": outgoing.delivery_id, "webhook-timestamp": str(timestamp)}
    if target.secret is not None:
        headers["webhook-signature"] = signatures(
            secrets[target.secret],
            reference=target.secret,
            delivery_id=outgoing.delivery_id,
            timestamp=timestamp,
            body=body,
        )
    return headers


def _system_error(error: BaseException) -> str:
    """The system's words, like "connection refused", from beneath the library's."""
    while deeper := error.__cause__ or error.__context__:
        error = deeper
    number = error.errno if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return os.strerror(number).lower() if number else f"{type(error).__name__} {error}".strip()


def _value(name: str, value: str) -> str:
    if problem := header_name_problem(name) or header_value_problem(name, value):
        raise Permanent(problem)
    return value


def _without(secrets: Iterable[str], excerpt: str) -> str:
    """A receiver may echo the request; its answer is kept and published."""
    return without_credentials(excerpt, [*secrets])


def payload(outgoing: OutgoingMessage) -> str:
    """The body, the same at every attempt."""
    created = outgoing.created_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    notice, result = outgoing.notice, "run.failed" if outgoing.context.failed else "delivery.completed"
    type, data = (result, _result(outgoing)) if notice is None else (notice.kind, _notice(notice))
    return json.dumps({"type": type, "timestamp": created, "data": data}, ensure_ascii=False)


def _notice(notice: NoticeRequestedV1) -> dict[str, Any]:
    return notice.model_dump(mode="json", exclude={"kind"}, exclude_none=True)


def _result(outgoing: OutgoingMessage) -> dict[str, Any]:
    context = outgoing.context
    absent = {name for name in RARE if not getattr(context, name)}
    data: dict[str, Any] = {
        "request_id": outgoing.request_id,
        **outgoing.for_programs(),
        "context": context.model_dump(mode="json", exclude={"event", *absent}),
    }
    if context.event is not None:
        data["event"] = context.event.model_dump(mode="json")
    if outgoing.replay_of is not None:
        data["replay_of"] = outgoing.replay_of
    return data


def result_of(response: httpx.Response, excerpt: str, *, now: datetime) -> Sent:
    """The meaning of a response: 2xx is delivered, 410 is final, and anything else is tried again: a receiver that is
    being deployed answers 401 or 404, too."""
    status = response.status_code
    details = {"status": status, "body": excerpt}
    if response.is_success:
        return Sent(details=details)
    if status == GONE:
        raise Gone(f"answered {status}", details=details)
    redirects = ": redirects are not followed, set the URL it leads to" if 300 <= status < 400 else ""
    after = retry_after(response.headers.get("retry-after", ""), now=now)
    raise TransientReply(f"answered {status}{redirects}", after=after, details=details)


def retry_after(text: str, *, now: datetime) -> float | None:
    """Seconds that `Retry-After` asks for, written as a number or as a date; None if it is neither."""
    if re.fullmatch(r"\d{1,9}", text.strip()):
        return float(text)
    try:
        until = parsedate_to_datetime(text)
        return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None


async def _excerpt(response: httpx.Response) -> str:
    """The beginning of the body, as far as it arrives soon; not decompressed, so that it stays small."""
    raw = b""
    with contextlib.suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(EXCERPT_S):
            async for chunk in response.aiter_raw():
                raw += chunk
                if len(raw) >= EXCERPT_BYTES:
                    break
    return raw[:EXCERPT_BYTES].decode(errors="replace")
