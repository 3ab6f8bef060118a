"""Reads what a team's robots deliver; stopped and started again, it goes on where it was. Needs only `pip install nats-py`.

    python subscriber.py nats://127.0.0.1:4222 main
"""

import asyncio
import contextlib
import json
import sys

import nats


async def main(url: str, team: str) -> None:
    jetstream = (await nats.connect(url)).jetstream()
    # The durable keeps our place in the stream, which keeps deliveries for 14 days.
    source = await jetstream.pull_subscribe(f"rota.v1.delivery.completed.{team}.*", durable=f"crm-{team}")
    while True:
        with contextlib.suppress(TimeoutError):  # nothing new within 30 s
            for message in await source.fetch(10, timeout=30):
                result = json.loads(message.data)["result"]
                print(message.headers["ce-id"], message.subject, result["content"]["summary"], flush=True)
                await message.ack()


asyncio.run(main(*sys.argv[1:]))
