"""100,000 messages through the standing pull, while its processes are killed, frozen, cut off and stopped at random."""

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest
from nats.errors import Error as NatsError

from rota_common.runtime.child_processes import tied
from rota_common.runtime.embedded_servers import EmbeddedServer
from rota_common.runtime.service import Service
from rota_common.testing.bus import keep_none, short_ack_wait
from rota_common.testing.patience import PATIENCE_S
from tests.chaos.link import HOST, Link
from tests.integration.common.harness import CHANNEL, a_fact, pending, running, settled
from tests.integration.common.standing_reader import TOO_MANY

pytestmark = pytest.mark.soak

MESSAGES = 100_000
REPLICAS = 3
SEED = 1
AT_ONCE = 200
AHEAD = 5_000
"""So many messages may wait: publishing lasts as long as the readers need, so that faults find them at work."""

FAULTS = ("killed", "stopped", "frozen", "cut off")
FAULT_AFTER_S = 1.0
FROZEN_S = 1.5
"""Longer than the ack wait."""

CUT_S = 0.3


class Replica:
    """A process that reads through a link of its own; when it ends, another takes its place."""

    def __init__(self, link: Link, path: Path) -> None:
        self.link, self.path = link, path
        path.touch()

    async def start(self) -> None:
        command = [sys.executable, "-m", "tests.integration.common.standing_reader"]
        self.process = await asyncio.create_subprocess_exec(
            *tied([*command, f"nats://{HOST}:{self.link.port}", str(self.path)]), stdout=asyncio.subprocess.DEVNULL
        )

    async def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        await self.process.wait()

    async def at_work(self, done: asyncio.Task[None]) -> None:
        """Return when it handles messages again, or all are `done`."""
        before = self.path.stat().st_size
        while self.path.stat().st_size == before and not done.done():
            await asyncio.sleep(0.05)

    async def suffer(self, fault: str) -> None:
        match fault:
            case "killed" | "stopped":
                await self.end(signal.SIGKILL if fault == "killed" else signal.SIGTERM)
                await self.start()
            case "frozen":
                self.process.send_signal(signal.SIGSTOP)
                await asyncio.sleep(FROZEN_S)
                self.process.send_signal(signal.SIGCONT)
            case "cut off":
                self.link.cut(reset=True)
                await asyncio.sleep(CUT_S)
                self.link.heal()

    async def suffer_until(self, done: asyncio.Task[None], random: Random, faults: Counter[str]) -> None:
        """One fault after the other, each when it has recovered from the last."""
        while not done.done():
            await self.at_work(done)
            await asyncio.sleep(random.uniform(0, FAULT_AFTER_S))
            fault = random.choice(FAULTS)
            await self.suffer(fault)
            faults[fault] += 1


@contextlib.asynccontextmanager
async def replicas(port: int, folder: Path) -> AsyncIterator[list[Replica]]:
    made = [Replica(Link(port), folder / f"handled-{number}") for number in range(REPLICAS)]
    for replica in made:
        await replica.link.open()
        await replica.start()
    try:
        yield made
    finally:
        for replica in made:
            await replica.end(signal.SIGKILL)
            await replica.link.close()


async def store(executor: Service, name: str) -> None:
    """Published twice it is one message."""
    while True:
        with contextlib.suppress(NatsError):
            await executor.publish(CHANNEL, a_fact(name), caused_by=name)
            return


async def publish_all(url: str) -> None:
    executor = Service("executor", url)
    async with running(executor):
        for first in range(0, MESSAGES, AT_ONCE):
            await asyncio.gather(
                *(store(executor, f"e{number}") for number in range(first, min(first + AT_ONCE, MESSAGES)))
            )
            while (await pending(url))[0] > AHEAD:
                await asyncio.sleep(0.05)


async def test_each_message_is_handled_and_none_beyond_the_slots(nats: EmbeddedServer, tmp_path: Path) -> None:
    await keep_none(nats.url)
    await short_ack_wait(nats.url, "scheduler")
    faults = Counter[str]()
    async with replicas(urlsplit(nats.url).port or 0, tmp_path) as suffering:
        async with asyncio.TaskGroup() as at_once:
            done = at_once.create_task(publish_all(nats.url))
            for number, replica in enumerate(suffering):
                at_once.create_task(replica.suffer_until(done, Random(SEED + number), faults))
        await settled(nats.url, timeout=4 * PATIENCE_S)
    handled = [line for replica in suffering for line in replica.path.read_text().splitlines()]
    assert TOO_MANY not in handled
    assert set(handled) == {f"e{number}" for number in range(MESSAGES)}
    assert min(faults[fault] for fault in FAULTS) > 1, faults
