"""Request and reply between services, with a timeout and a failure of its own for a service that is down."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from pydantic import ValidationError

from rota_common.bus import long_answers
from rota_common.bus.answering import Answer
from rota_common.bus.connection import Bus
from rota_common.bus.long_answers import MORE, PARTS, LongAnswers
from rota_common.bus.publishing import NotInCatalog, check_size, room
from rota_common.errors import Permanent, Transient, Unreadable
from rota_common.runtime import metrics
from rota_common.runtime.logs import logger
from rota_contracts.catalog import Question
from rota_contracts.model import Part

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)
RequestHandler = Callable[[Any], Awaitable[Part]]

ERROR = "rota-error"
PERMANENT, TRANSIENT, WORKING = "permanent", "transient", "working"

SLICE_S = 10.0
"""A responder that is silent for this long counts as dead."""

STILL_WORKING_S = 8.0
"""A handler that needs longer replies StillWorking by then: within the slice, so that only the dead are silent."""

PAUSE_S = 1.0
"""Least time between two requests for one reply: without a responder, each fails at once."""


EMPTY: tuple[object, ...] = (None, False, 0, "", [], {})
"""Values of a new optional field that ask for nothing new."""


class NoReply(Transient):
    """No reply yet: no responder is there, it has stopped, or it is still working."""


class StillWorking(NoReply):
    """Raised by handlers that take long: the work goes on, and a repeated request joins it."""


class Ask:
    """`reply = await ask(QUESTION, request)`, for one service."""

    def __init__(self, bus: Bus, *, by: str) -> None:
        self._bus, self._by = bus, by
        self._long = LongAnswers(bus)

    async def __call__(self, question: Question[Q, A], request: Q, *, timeout: float | None = None) -> A:
        """Raises Transient if the request failed for now (NoReply: no reply within `timeout` seconds), Permanent if it
        was refused."""
        if self._by not in question.asked_by:
            raise NotInCatalog(f"{self._by} may not ask {question.subject}: add it to rota_contracts.catalog")
        if not self._bus.connected:  # the client would buffer the request and wait for its server
            raise NoReply(f"can't ask {question.subject}: not connected to NATS")
        body, seconds = request.model_dump_json().encode(), question.timeout if timeout is None else timeout
        check_size(self._bus, f"the request to {question.subject}", body, {})
        reply = await self._reply(question, body, seconds)
        _raise_failure((reply.headers or {}).get(ERROR), reply.data)
        try:
            return question.answer.model_validate_json(reply.data)
        except ValidationError as error:  # of another version: it may be another replica's turn next
            raise Unreadable(f"can't read the answer to {question.subject}: {error}") from error

    async def _reply(self, question: Question[Q, A], body: bytes, seconds: float) -> Msg:
        time = asyncio.get_running_loop().time
        end = time() + seconds
        try:
            reply = await self._bus.client.request(question.subject, body, timeout=seconds)
            if (reply.headers or {}).get(PARTS) == MORE:
                return await self._long.ask(question.subject, body, timeout=end - time())
        except NoRespondersError as error:
            raise NoReply(f"{question.answered_by} is down: no responder on {question.subject}") from error
        except (NatsTimeout, TimeoutError) as error:
            raise NoReply(f"{question.answered_by} didn't answer {question.subject} within {seconds:g} s") from error
        except NatsError as error:
            raise NoReply(f"can't ask {question.subject}: {error!r}") from error
        return reply


async def call_long(ask: Ask, question: Question[Q, A], request: Q, *, timeout: float, every: float = SLICE_S) -> A:
    """The reply to a request that takes long: it is repeated every `every` seconds, for `timeout` in all, so that a
    responder that dies costs one slice and not the whole wait.

    The request needs an id under which it is handled once, however often it is repeated. Raises NoReply when the time
    is over, and at once whatever else `ask` raises.
    """
    time = asyncio.get_running_loop().time
    end = time() + timeout
    while True:
        asked_at = time()
        try:
            return await ask(question, request, timeout=min(every, end - asked_at))
        except NoReply as error:
            again_at = max(time(), asked_at + PAUSE_S)
            if again_at >= end:
                raise NoReply(f"no answer to {question.subject} within {timeout:g} s: {error}") from error
        await asyncio.sleep(again_at - time())


def _raise_failure(kind: str | None, reason: bytes) -> None:
    if kind == PERMANENT:
        raise Permanent(reason.decode())
    if kind == WORKING:
        raise StillWorking(reason.decode())
    if kind is not None:
        raise Transient(reason.decode())


@dataclass(frozen=True)
class Responder:
    """The handler of a question; `workers` requests are handled at once."""

    question: Question[Any, Any]
    handle: RequestHandler
    workers: int = 64


def _request(question: Question[Q, A], body: bytes) -> Q:
    """The parsed request. A field that this version doesn't know is refused, not dropped, unless it is empty.

    Raises Transient: the service that asks is newer, and this one is about to be replaced.
    """
    try:
        return question.request.model_validate_json(body, extra="forbid")
    except ValidationError as error:
        unknown = [each for each in error.errors(include_url=False) if each["type"] == "extra_forbidden"]
        if not unknown:
            raise
        if set_ones := [".".join(map(str, each["loc"])) for each in unknown if each["input"] not in EMPTY]:
            raise Transient(
                f"unknown field {', '.join(set_ones)}: the answering service is older than the one that asks"
            ) from error
        return question.request.model_validate_json(body)


def respond(bus: Bus, service: str, responder: Responder, outages: tuple[type[Exception], ...]) -> None:
    """Let `service` respond to a question; its replicas share the requests."""
    question = responder.question
    if service != question.answered_by:
        raise NotInCatalog(f"{service} doesn't answer {question.subject}: see rota_contracts.catalog")
    log = logger(service=service, question=question.name)
    passing: tuple[type[Exception], ...] = (Transient, NatsError, *outages)

    async def answer(message: Msg) -> Answer:
        try:
            request = _request(question, message.data)
            reply, error = (await responder.handle(request)).model_dump_json().encode(), None
            long_answers.check_answer(bus, f"the answer to {question.subject}", reply)
        except (Permanent, ValidationError) as refusal:
            reply, error = str(refusal).encode(), PERMANENT
        except StillWorking as so_far:
            reply, error = str(so_far).encode(), WORKING
        except passing as failure:
            reply, error = f"{service} can't answer now: {failure}".encode(), TRANSIENT
        except Exception as bug:  # the caller must get a reply, or it would wait for its timeout
            log.exception("answering failed")
            reply, error = f"{service} failed: {type(bug).__name__}".encode(), TRANSIENT
        metrics.QUESTIONS.labels(service, question.name, error or "answered").inc()
        if error is None and len(reply) > room(bus):
            return await _in_parts(bus, question, message, reply)
        return Answer(reply, {ERROR: error} if error else {})

    bus.answer(question.subject, answer, queue=service, workers=responder.workers)


async def _in_parts(bus: Bus, question: Question[Any, Any], message: Msg, reply: bytes) -> Answer:
    """The last part, when all others are sent; or a refusal for one who asks for the first time, or is of a version
    that takes no parts."""
    if PARTS not in (message.headers or {}):
        text = f"the answer to {question.subject} has {len(reply)} bytes, more than a message may have"
        return Answer(text.encode(), {ERROR: PERMANENT, PARTS: MORE})
    *parts, last = long_answers.split(bus, reply)
    headers = {PARTS: str(len(parts) + 1)}
    for part in parts:
        await bus.client.publish(message.reply, part, headers=headers)
    return Answer(last, headers)
