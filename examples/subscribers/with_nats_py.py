"""Reads all that a team's robots deliver; started again, it goes on where it was. `pip install "nats-py[nkeys]"`

`rota feed-clients add TEAM NAME` makes the subscriber and its key. Then:

    python with_nats_py.py --team TEAM --name NAME --key NAME.nk
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path

import nats

STREAM = "DELIVERIES"


class Seen:
    """The last count of every subject: in a program of yours, in the database that the work goes into."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._last: dict[str, int] = json.loads(file.read_text()) if file.exists() else {}

    def is_new(self, subject: str, count: int) -> bool:
        """False: it was handled before. The counts of a subject have no gaps."""
        last = self._last.get(subject, 0)
        if last and count > last + 1:
            why = "was this place moved on, or does another program read under this name?"
            raise SystemExit(f"expected number {last + 1} of {subject}, got {count}: {why}")
        return count > last

    def note(self, subject: str, count: int) -> None:
        self._last[subject] = count
        self._file.write_text(json.dumps(self._last))


async def failed(error: Exception) -> None:
    """A line instead of a traceback; with a key that the server doesn't know it would try for ever."""
    sys.stderr.write(f"NATS: {error!r}\n")
    if "authorization violation" in str(error).lower():
        raise SystemExit("is --url the right server, and --key one of its keys? `rota feed-clients add` prints both")
    if "permissions violation" in str(error).lower():
        sys.stderr.write("--key may not read this feed: are --team and --name those of `rota feed-clients add`?\n")
        os._exit(1)  # nothing waits for this call, and SystemExit would print a traceback


async def main(given: argparse.Namespace) -> None:
    seen, durable = Seen(given.state), f"{given.team}={given.name}"
    options = {"name": given.name, "max_reconnect_attempts": -1, "error_cb": failed}
    client = await nats.connect(given.url, nkeys_seed=str(given.key), **options)
    jetstream = client.jetstream(prefix="rota.js")
    feed = await jetstream.pull_subscribe_bind(durable=durable, stream=STREAM)
    while True:
        try:
            messages = await feed.fetch(100, timeout=given.idle)
        except TimeoutError:  # nothing new
            if given.until_idle:
                break
            continue
        skipped = 0
        for message in messages:  # one at a time: after an interruption the reader continues here
            count = int(message.headers["ce-sequence"])
            if seen.is_new(message.subject, count):
                handle(message.subject, count, message.headers, json.loads(message.data))
                seen.note(message.subject, count)
            else:
                skipped += 1
            await message.ack_sync(timeout=10)
        if skipped:
            sys.stderr.write(f"{skipped} skipped, as {given.state} has them: to read them again, remove it\n")
    await client.close()


def handle(subject: str, count: int, headers: dict[str, str], fact: dict[str, object]) -> None:
    line = {"subject": subject, "count": count, "id": headers["ce-id"], "request_id": fact["request_id"]}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="nats://127.0.0.1:4222")
    parser.add_argument("--team", required=True)
    parser.add_argument("--name", required=True, help="as it was given to `rota feed-clients add`")
    parser.add_argument("--key", required=True, type=Path, help="the file with its seed")
    parser.add_argument("--state", type=Path, default=Path("seen.json"), help="where the counts are kept")
    parser.add_argument("--idle", type=float, default=30, help="seconds to wait for news")
    parser.add_argument("--until-idle", action="store_true", help="end when there is nothing new")
    given = parser.parse_args()
    if not given.key.is_file():
        raise SystemExit(f"expected a key in {given.key}: there is no such file; `rota feed-clients add` writes it")
    asyncio.run(main(given))
