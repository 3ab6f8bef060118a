"""`rota listen`: a receiver of signed results on this machine."""

from collections import deque
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

import typer

from rota.commands.webhook import secret_of
from rota.output import JsonFlag, say, say_json, warn
from rota.receiver import LOOPBACK, Received, Receiver
from rota.timestamps import now

SHOWN = 2000
"""Characters of a result's text."""

REMEMBERED = 10_000
"""Deliveries that are known again when they come again."""


def register(app: typer.Typer) -> None:
    app.command("listen", epilog="Example: `rota listen 9000 --secret '$ENV.OUT_SECRET'`, then deliver to its address")(
        listen
    )


def listen(
    port: Annotated[int, typer.Argument(min=0, max=65535, help="The port; 0 takes any free one.")] = 9000,
    secret: Annotated[str, typer.Option(help="The target's secret, or $ENV.VARIABLE of this shell.")] = "",
    status: Annotated[
        int, typer.Option(min=200, max=599, help="The answer to what is received: 503 shows how Rota tries again.")
    ] = 200,
    host: Annotated[str, typer.Option(help="The address of this machine to listen on.")] = LOOPBACK,
    count: Annotated[int, typer.Option(min=0, help="End after so many requests; 0: only with Ctrl+C.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Receive results as a webhook target does: verify each signature, print the result, and answer.

    Without --secret nothing is verified. A wrong signature is answered with 401.
    """
    left, accepted = count, deque[str](maxlen=REMEMBERED)

    def received(request: Received) -> None:
        nonlocal left
        if request.message_id in accepted:  # a delivery comes at least once
            warn(f"{request.message_id} came again, and was answered {request.status}: it is shown once")
            return
        if request.message_id and request.status < HTTPStatus.MULTIPLE_CHOICES:
            accepted.append(request.message_id)
        left -= 1
        say_json(asdict(request)) if json else _print(request)
        if left == 0:
            receiver.stop()

    receiver = Receiver(port, host=host, secret=secret_of(secret) if secret else "", status=status, received=received)
    if not json:
        say(f"listening on {receiver.url}" + ("" if secret else ", without --secret: nothing is verified"))
    with receiver, suppress(KeyboardInterrupt):
        receiver.serve_forever()


def _print(request: Received) -> None:
    mark = f"✗ {request.problem}" if request.problem else "✓ verified" if request.verified else "not verified"
    body = request.body if isinstance(request.body, dict) else {}
    data: Any = body.get("data")
    kind = str(body.get("type", "a request"))
    say(f"{now():%H:%M:%S} {kind} {request.message_id} {mark}; answered {request.status}")
    shown = data if isinstance(data, dict) else {}
    for text in (shown.get("summary"), shown.get("body")):
        if isinstance(text, str) and text:
            say("\n".join(f"  {line}" for line in text[:SHOWN].splitlines()))
