"""The same with FastStream: handlers instead of a loop. `pip install "faststream[nats]" nkeys`

ROTA_TEAM=TEAM ROTA_SUBSCRIBER=NAME ROTA_KEY=NAME.nk python with_faststream.py
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from faststream import AckPolicy, FastStream
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from faststream.nats.security import NatsNKey
from with_nats_py import Seen, handle

TEAM, NAME = os.environ["ROTA_TEAM"], os.environ["ROTA_SUBSCRIBER"]
seen = Seen(Path(os.environ.get("ROTA_STATE", "seen.json")))
broker = NatsBroker(
    os.environ.get("ROTA_NATS_URL", "nats://127.0.0.1:4222"),
    security=NatsNKey.from_file(os.environ["ROTA_KEY"]),
    js_options={"prefix": "rota.js"},
    max_reconnect_attempts=-1,  # or it gives up after two minutes, and spins
    logger=None,
)


@broker.subscriber(
    f"rota.v1.delivery.*.{TEAM}.*",
    stream=JStream("DELIVERIES", declare=False),
    durable=f"{TEAM}={NAME}",
    pull_sub=PullSub(batch_size=1, timeout=5),  # one after the other: the order of the feed
    ack_policy=AckPolicy.MANUAL,  # the default throws away what a handler fails at
)
async def on_delivery(fact: dict[str, Any], message: NatsMessage) -> None:
    subject, count = message.raw_message.subject, int(message.headers["ce-sequence"])
    if seen.is_new(subject, count):
        try:
            handle(subject, count, message.headers, fact)
        except Exception as error:  # later ones must not overtake it: it comes first at the next start
            await message.nack()
            raise SystemExit(f"{subject} {count}: {error!r}") from error
        seen.note(subject, count)
    await message.ack()


if __name__ == "__main__":
    asyncio.run(FastStream(broker, logger=None).run())
