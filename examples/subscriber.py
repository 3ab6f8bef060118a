"""Reads what a team's robots deliver; started again, it goes on where it was. Needs only `pip install nats-py`.

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
                # What is delivered twice has the same ce-id.
                sys.stdout.write(f"{message.headers['ce-id']} {message.subject} {result['content']['summary']}\n")
                sys.stdout.flush()
                await message.ack()


asyncio.run(main(*sys.argv[1:]))
