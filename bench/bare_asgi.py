"""The floor of a webhook: a bare ASGI app that reads a body, publishes it to JetStream, waits until it is stored, and
answers. `uvicorn bench.bare_asgi:app`, with BARE_NATS_URL."""

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import nats
from nats.js import JetStreamContext

STREAM, SUBJECT = "FLOOR", "floor.received"
ANSWER = json.dumps({"stored": True}).encode()

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_bus: list[JetStreamContext] = []


async def app(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await _lifespan(receive, send)
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    name = next((value for key, value in scope["headers"] if key == b"webhook-id"), b"").decode()
    await _bus[0].publish(SUBJECT, body, headers={"Nats-Msg-Id": name}, stream=STREAM, timeout=5)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(ANSWER)).encode())]
    await send({"type": "http.response.start", "status": 202, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


async def _lifespan(receive: Receive, send: Send) -> None:
    await receive()
    client = await nats.connect(os.environ["BARE_NATS_URL"])
    _bus.append(client.jetstream())
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await client.close()
    await send({"type": "lifespan.shutdown.complete"})
