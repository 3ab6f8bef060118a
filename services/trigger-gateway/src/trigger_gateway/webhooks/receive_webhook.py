"""Receives webhooks: checks a post, and answers only once the bus has stored its triggers.

The checks in order: rate limit of the address, source, rate limit of the source, signature, event, repeat.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from rota_common.clock import Clock
from rota_common.errors import Transient
from trigger_gateway.problems import Problem, no_source
from trigger_gateway.robots.routes import Route, Routes
from trigger_gateway.sources.schemes import standard_header
from trigger_gateway.sources.source import WebhookSettings
from trigger_gateway.sources.verify_sender import SecretMissing, VerifySender
from trigger_gateway.webhooks.answer_message import AnswerMessage, MessageReply
from trigger_gateway.webhooks.inbound_event import InboundEvent, SentPost, read_event
from trigger_gateway.webhooks.inbound_log import LogEntry, Refusal
from trigger_gateway.webhooks.ingest_event import IngestEvent, IngestResult
from trigger_gateway.webhooks.ports import InboundLog
from trigger_gateway.webhooks.rate_limits import RateLimiter

MESSAGES_A_MINUTE = 60
"""From one address, to a source whose robot answers at once, unless the source has a limit of its own."""

ID_HEADERS = ("x-github-delivery", "x-idempotency-key")
ID_SHOWN = 256

TOO_LARGE, UNAVAILABLE = "too_large", "unavailable"
"""Codes of answers that aren't a Problem's."""


@dataclass(frozen=True)
class Post:
    """`address` is its sender's; names in `headers` are in lower case, or looked up in any."""

    team: str
    source: str
    headers: Mapping[str, str]
    body: bytes
    address: str
    request_id: str = ""
    trace: str = ""


@dataclass
class InFlightLimit:
    """At most `free` requests at a time, without a queue: Transient beyond."""

    free: int

    def __enter__(self) -> None:
        if not self.free:
            raise Transient("too many posts are being handled already")
        self.free -= 1

    def __exit__(self, *_: object) -> None:
        self.free += 1


@dataclass(frozen=True, kw_only=True)
class ReceiveWebhook:
    """`posts` and `messages` limit what is in memory while a server is slow."""

    routes: Routes
    rates: RateLimiter
    verify: VerifySender
    ingest: IngestEvent
    answer: AnswerMessage
    log: InboundLog
    clock: Clock
    new_id: Callable[[], str]
    posts: InFlightLimit
    messages: InFlightLimit

    async def __call__(self, post: Post) -> IngestResult | MessageReply:
        """Raise a Problem for a post that is refused, Transient when it can't be stored now."""
        with self.posts:
            await self.rates.by_address(post.address)
            route = await self.routes.find(post.team, post.source)
            if route is None or route.source.webhook is None:
                raise no_source(post.team, post.source)
            try:
                return await self._receive(route, route.source.webhook, post)
            except Problem as problem:
                self._log_refusal(post, route.source.webhook, problem.code, cause=problem.cause)
                raise
            except SecretMissing as error:
                self._log_refusal(post, route.source.webhook, UNAVAILABLE, cause=error.cause)
                raise

    async def log_too_large(self, post: Post, why: str) -> None:
        """Log a post whose body is larger than may be; nothing of it is kept. No more of them than the address may
        send."""
        with suppress(Problem, Transient), self.posts:
            await self.rates.by_address(post.address)
            route = await self.routes.find(post.team, post.source)
            if route is not None and route.source.webhook is not None:
                self.log.refused(self._refusal(post, TOO_LARGE, cause=f"body_size: {why}"))

    async def _receive(self, route: Route, settings: WebhookSettings, post: Post) -> IngestResult | MessageReply:
        if settings.robot is None:
            self.rates.check_source(post.team, post.source, settings.rate_limit)
        else:
            limit = settings.rate_limit or MESSAGES_A_MINUTE
            await self.rates.by_sender(post.team, post.source, post.address, limit)
        await self.verify(route.source, post.headers, post.body)
        event = read_event(route.source, post.headers, post.body, self.clock(), self.new_id)
        if event.unwanted:
            self._log_refusal(post, settings, "unwanted_type", event.id)
        if event.unwanted or event.challenge is not None:
            return IngestResult(event)
        digest = hashlib.sha256(post.body).hexdigest()
        if settings.robot is not None:
            return await self._answer(event, settings.robot, digest)
        return await self.ingest(event, digest, route, trace=post.trace)

    async def _answer(self, event: InboundEvent, member: str, digest: str) -> MessageReply:
        with self.messages:
            reply = await self.answer(event, member, digest)
        if reply.repeated:
            self.log.repeated(event)
        else:
            await self.log.add(LogEntry(event, (), digest))
        return reply

    def _log_refusal(
        self, post: Post, settings: WebhookSettings, reason: str, event_id: str = "", *, cause: str = ""
    ) -> None:
        sent = SentPost(post.headers, post.body, settings.header)
        self.log.refused(replace(self._refusal(post, reason, event_id, cause=cause), sent=sent))

    def _refusal(self, post: Post, reason: str, event_id: str = "", *, cause: str) -> Refusal:
        shown = (event_id or _named(post.headers))[:ID_SHOWN]
        return Refusal(post.team, post.source, reason, self.clock(), post.request_id, shown, cause)


def _named(headers: Mapping[str, str]) -> str:
    """The sender's id of the event, where a header has it."""
    return standard_header(headers, "id") or next((value for name in ID_HEADERS if (value := headers.get(name))), "")
