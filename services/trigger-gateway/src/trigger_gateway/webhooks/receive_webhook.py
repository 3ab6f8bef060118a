"""Turns a post into triggers, and answers only once the bus has stored them. The order of the checks: DEC-7."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rota_common.clock import Clock
from rota_common.errors import Transient
from rota_contracts.messages.trigger import TriggerReceivedV1
from trigger_gateway.ports import Signatures, Triggers
from trigger_gateway.problems import Problem, no_source
from trigger_gateway.robots.routes import Route, Routes
from trigger_gateway.sources.source import MESSAGES_A_MINUTE, WebhookSettings
from trigger_gateway.webhooks.answer_message import Answered, AnswerMessage
from trigger_gateway.webhooks.inbound_event import InboundEvent, Woken, read_event, standard_header, triggers_of
from trigger_gateway.webhooks.inbound_log import InboundLog, Logged, Refusal
from trigger_gateway.webhooks.ingest_event import Received, Recognise, Taken
from trigger_gateway.webhooks.rate_limits import Rates

AT_ONCE = 64
"""Triggers of one event that are published side by side."""

NAMED_IN = ("x-github-delivery", "x-idempotency-key")
NAME_SHOWN = 256


@dataclass(frozen=True)
class Post:
    """`address` is its sender's; names in `headers` are in lower case, or found in any."""

    team: str
    source: str
    headers: Mapping[str, str]
    body: bytes
    address: str
    request_id: str = ""
    trace: str = ""


class _Places:
    """So many, and no queue: who finds none is told to come back."""

    def __init__(self, count: int) -> None:
        self._free = count

    def __enter__(self) -> None:
        if not self._free:
            raise Transient("too many posts are in hand already")
        self._free -= 1

    def __exit__(self, *_: object) -> None:
        self._free += 1


class ReceiveWebhook:
    """`at_most` posts are in hand at the same time, a tenth of them messages, whose answers take long: more would fill
    the memory while a server is slow."""

    def __init__(
        self,
        routes: Routes,
        rates: Rates,
        signatures: Signatures,
        recognise: Recognise,
        triggers: Triggers,
        answer: AnswerMessage,
        inbound: InboundLog,
        clock: Clock,
        fresh_id: Callable[[], str],
        *,
        at_most: int,
    ) -> None:
        self._routes, self._rates, self._signatures = routes, rates, signatures
        self._recognise, self._triggers, self._inbound = recognise, triggers, inbound
        self._answer, self._clock, self._fresh_id = answer, clock, fresh_id
        self._posts, self._messages = _Places(at_most), _Places(max(1, at_most // 10))

    async def __call__(self, post: Post) -> Received | Answered:
        """Raise a Problem for a post that is not taken, Transient when it can't be stored now.

        A publish that fails after others succeeded is harmless: the sender's repeat makes the same triggers again.
        """
        with self._posts:
            await self._rates.by_address(post.address)
            route = await self._routes.find(post.team, post.source)
            if route is None or route.source.webhook is None:
                raise no_source(post.team, post.source)
            try:
                return await self._of(route, route.source.webhook, post)
            except Problem as problem:
                self._refuse(post, problem.code)
                raise

    async def _of(self, route: Route, settings: WebhookSettings, post: Post) -> Received | Answered:
        if settings.robot is None:
            self._rates.look_at(post.team, post.source, settings.rate_limit)
        else:
            limit = settings.rate_limit or MESSAGES_A_MINUTE
            await self._rates.by_sender(post.team, post.source, post.address, limit)
        self._signatures.verify(route.source, post.headers, post.body)
        event = read_event(route.source, post.headers, post.body, self._clock(), self._fresh_id)
        if event.unwanted:
            self._refuse(post, "unwanted_type", event.id)
        if event.unwanted or event.challenge is not None:
            return Received(event, ())
        digest = hashlib.sha256(post.body).hexdigest()
        if settings.robot is not None:
            return await self._answered(event, settings.robot, digest)

        async def accept() -> Taken:
            await self._rates.by_source(post.team, post.source, settings.rate_limit)
            return await self._publish(triggers_of(event, route.subscribers), post.trace)

        return await self._recognise(event, digest, accept)

    async def _answered(self, event: InboundEvent, member: str, digest: str) -> Answered:
        with self._messages:
            answered = await self._answer(event, member, digest)
        if answered.repeated:
            self._inbound.repeated(event)
        else:
            await self._inbound.add(Logged(event, (), digest))
        return answered

    async def _publish(self, triggers: Sequence[TriggerReceivedV1], trace: str) -> Taken:
        if len(triggers) == 1:
            new = await self._triggers.publish(triggers[0], trace=trace)
            return Taken((Woken(triggers[0].trigger_id, triggers[0].member_id),), new)
        new = not triggers
        for start in range(0, len(triggers), AT_ONCE):
            some = triggers[start : start + AT_ONCE]
            stored = await asyncio.gather(*(self._triggers.publish(trigger, trace=trace) for trigger in some))
            new = new or any(stored)
        return Taken(tuple(Woken(trigger.trigger_id, trigger.member_id) for trigger in triggers), new)

    def _refuse(self, post: Post, reason: str, event_id: str = "") -> None:
        named = event_id or _named(post.headers)
        self._inbound.refused(
            Refusal(post.team, post.source, reason, self._clock(), post.request_id, named[:NAME_SHOWN])
        )


def _named(headers: Mapping[str, str]) -> str:
    """What the sender calls its event, where that can be read without reading the body."""
    return standard_header(headers, "id") or next((value for name in NAMED_IN if (value := headers.get(name))), "")
