"""The systems around a Rota in containers: a sender of events, and a receiver of results. Neither uses Rota's code."""

import asyncio
import json
import socket
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import uuid4

import httpx
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rota_common.runtime import embedded_http

DELIVERED_S = 180.0
"""Longer than the ack wait and the leases that the work of a killed container waits for."""

AGAIN_S = 0.2
ACCEPTED = (202, 200)
"""The second is the answer to an event that is posted again because its first answer was lost."""

POST_S = 15.0


@dataclass
class Receiver:
    """Results by execution: the `webhook-id` of each request, as often as it came; `forged`: how many didn't verify."""

    url: str
    ids: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    requests: dict[str, str] = field(default_factory=dict)
    """Execution → the `request_id` that the feed knows it by."""

    at: dict[str, float] = field(default_factory=dict)
    """Execution → when its first result came, by this process's clock."""

    forged: int = 0
    _more: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def took(self, execution_id: str, webhook_id: str, request_id: str) -> None:
        async with self._more:
            self.ids[execution_id].append(webhook_id)
            self.at.setdefault(execution_id, time.monotonic())
            self.requests[execution_id] = request_id
            self._more.notify_all()

    async def more(self, number: int) -> None:
        """Return once so many further executions have a result. TimeoutError says how many came."""
        before = len(self.ids)
        await self._until(lambda: len(self.ids) >= before + number, lambda: f"{number}, got {len(self.ids) - before}")

    async def all_of(self, executions: Iterable[str]) -> None:
        """Return once each of them has a result. TimeoutError names those that have none."""
        wanted = set(executions)
        await self._until(
            lambda: wanted <= self.ids.keys(),
            lambda: f"{len(wanted)}, missed {sorted(wanted - self.ids.keys())[:20]}",
        )

    async def _until(self, reached: Any, found: Any) -> None:
        try:
            async with asyncio.timeout(DELIVERED_S), self._more:
                await self._more.wait_for(reached)
        except TimeoutError:
            raise TimeoutError(f"expected results within {DELIVERED_S:g} s of executions: {found()}") from None

    def repeated(self, executions: Iterable[str]) -> dict[str, list[str]]:
        """The executions whose result came more than once."""
        return {each: self.ids[each] for each in executions if len(self.ids[each]) > 1}

    def doubled(self, executions: Iterable[str]) -> dict[str, list[str]]:
        """Those that a receiver which drops the ids it has seen takes twice."""
        return {each: ids for each, ids in self.repeated(executions).items() if len(set(ids)) > 1}


@asynccontextmanager
async def receiver(address: str, secret: str) -> AsyncIterator[Receiver]:
    """An HTTP server on this machine's `address` that verifies as the standardwebhooks package does."""
    with socket.create_server((address, 0)) as listener:
        taking = Receiver(f"http://host.docker.internal:{listener.getsockname()[1]}/results")

        async def take(request: Request) -> Response:
            try:
                body = Webhook(secret).verify(await request.body(), dict(request.headers))["data"]
            except WebhookVerificationError:
                taking.forged += 1
                return Response(status_code=401)
            await taking.took(body["context"]["execution_id"], request.headers["webhook-id"], body["request_id"])
            return Response(status_code=204)

        app = Starlette(routes=[Route("/results", take, methods=["POST"])])
        async with embedded_http.serve(app, listener, lifespan="off"):
            yield taking


@dataclass
class Sender:
    """Posts signed events at `rate` a second to the source at `url`: each under its id until it is accepted, or once,
    without `retries`. `errors`: what a client saw instead of a 202."""

    url: str
    secret: str
    rate: float
    types: tuple[str, ...]
    retries: bool = True
    executions: dict[str, str] = field(default_factory=dict)
    """Event → its execution."""

    sent: dict[str, float] = field(default_factory=dict)
    """Event → when it was posted first, by this process's clock."""

    errors: list[str] = field(default_factory=list)
    longest_s: float = 0.0
    _stop: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def posting(self) -> AsyncIterator[None]:
        """Post as long as the block runs; at its end what was begun is accepted."""
        self._stop.clear()
        run = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._stop.set()
            await run

    async def post(self, number: int) -> None:
        """Post `number` events, at the same rate."""
        await self._run(number)

    async def _run(self, number: int | None = None) -> None:
        async with self._client() as client, asyncio.TaskGroup() as group:
            began = time.monotonic()
            for number_sent in count():
                if self._stop.is_set() or number_sent == number:
                    return
                group.create_task(self._until_accepted(client, number_sent))
                await asyncio.sleep(max(0.0, began + (number_sent + 1) / self.rate - time.monotonic()))

    def _client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(timeout=POST_S, trust_env=False)

    async def _until_accepted(self, client: httpx.AsyncClient, number: int) -> str:
        """A new event, of the type whose turn it is; returns its id."""
        message_id, kind = f"msg_{uuid4().hex}", self.types[number % len(self.types)]
        body = json.dumps({"type": kind, "data": {"name": "John Smith", "company": "BigCorp", "id": message_id}})
        self.sent[message_id] = time.monotonic()
        while not await self._accepted(client, message_id, body) and self.retries:
            await asyncio.sleep(AGAIN_S)
        return message_id

    async def _accepted(self, client: httpx.AsyncClient, message_id: str, body: str) -> bool:
        at, began = datetime.now(UTC), time.monotonic()
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": Webhook(self.secret).sign(message_id, at, body),
        }
        try:
            answer = await client.post(self.url, content=body, headers=headers)
        except httpx.HTTPError as error:
            self.errors.append(repr(error))
            return False
        if answer.status_code not in ACCEPTED:
            self.errors.append(f"{answer.status_code}: {answer.text[:200]}")
            return False
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        self._note(message_id, [woken["execution_id"] for woken in answer.json()["triggers"]])
        return True

    def _note(self, message_id: str, executions: list[str]) -> None:
        (self.executions[message_id],) = executions
