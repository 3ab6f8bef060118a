"""The programs of `examples/subscribers`: they read in order, without a gap, and resume at their position."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rota_common.bus.feed import Feed
from rota_common.bus.publishing import Publish
from rota_common.clock import now
from rota_common.nats_admin.config import new_key
from rota_contracts.catalog import CHANNELS
from tests.integration.isolation.harness import IsolatedNats, isolated_nats

EXAMPLES = Path(__file__).parents[3] / "examples" / "subscribers"
MESSAGES = Path(__file__).parents[3] / "contracts" / "examples"
TEAM, NAME, OTHERS = "acme", "crm", "rival"
NODE_IS_A_MUST = "ROTA_TEST_NODE"
WITHIN_S = 60


class NoCounts:
    """No message has left the stream in these tests."""

    async def last(self, subject: str) -> int:
        return 0

    async def keep(self, counts: Mapping[str, int]) -> None: ...


@dataclass
class Center:
    """Publishes facts of deliveries as the delivery-center does."""

    feed: Feed
    made: int = 0

    async def deliver(self, team: str, count: int) -> None:
        """`count` deliveries of two robots in turn, each `completed` and `settled`."""
        for _ in range(count):
            self.made += 1
            for name, file in (("delivery.completed", "lead"), ("delivery.settled", "all_reached")):
                given = json.loads((MESSAGES / name / f"{file}.json").read_text(encoding="utf-8"))["data"]
                whose = {"team_id": team, "member_id": f"robot-{self.made % 2}", "request_id": f"request-{self.made}"}
                data = CHANNELS[name].payload.model_validate(given | whose)
                await self.feed(CHANNELS[name], data, caused_by=f"request-{self.made}", since=datetime.now(UTC))


@pytest_asyncio.fixture
async def bus(tmp_path: Path) -> AsyncIterator[IsolatedNats]:
    async with isolated_nats(tmp_path / "nats", feed_clients=((TEAM, NAME), (OTHERS, NAME))) as made:
        yield made


@pytest_asyncio.fixture
async def center(bus: IsolatedNats) -> Center:
    connected = await bus.service("delivery-center")
    publish = Publish(connected, source="delivery-center", clock=now)
    return Center(Feed(connected, publish, counts=NoCounts(), clock=now))


async def lines(*command: str, folder: Path, environ: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The output of a program that ends by itself."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, env=os.environ | (environ or {}), stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(WITHIN_S):
        printed, _ = await process.communicate()
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return [json.loads(line) for line in printed.splitlines()]


def counts(read: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Subject → the counts, in their order."""
    found: dict[str, list[int]] = {}
    for line in read:
        found.setdefault(line["subject"], []).append(line["count"])
    return found


def as_published(first: int, last: int) -> dict[str, list[int]]:
    subjects = [f"rota.v1.delivery.{what}.{TEAM}.robot-{n}" for what in ("completed", "settled") for n in (0, 1)]
    return {subject: list(range(first, last + 1)) for subject in subjects}


async def check(program: list[str], bus: IsolatedNats, center: Center, folder: Path) -> None:
    """Run the program twice, with deliveries in between; it reads only its own team's."""
    given = ["--url", bus.url, "--team", TEAM, "--name", NAME, "--key", str(bus.key(TEAM, NAME))]
    command = [*program, *given, "--idle", "1.5", "--until-idle"]
    await center.deliver(TEAM, 20)
    await center.deliver(OTHERS, 3)
    assert counts(await lines(*command, folder=folder)) == as_published(1, 10)

    await center.deliver(TEAM, 300)
    await bus.server.kill()
    await bus.server.start()
    assert counts(await lines(*command, folder=folder)) == as_published(11, 160)
    assert await lines(*command, folder=folder) == []


async def test_with_nats_py(bus: IsolatedNats, center: Center, tmp_path: Path) -> None:
    await check([sys.executable, str(EXAMPLES / "with_nats_py.py")], bus, center, tmp_path)


RIGHT_SERVER = "is --url the right server"


async def ends_with_a_question(
    program: list[str],
    bus: IsolatedNats,
    folder: Path,
    *,
    name: str,
    key: Path,
    team: str = TEAM,
    says: str = RIGHT_SERVER,
) -> None:
    """In a line, and with no stack."""
    given = ["--url", bus.url, "--team", team, "--name", name, "--key", str(key)]
    process = await asyncio.create_subprocess_exec(*program, *given, cwd=folder, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(WITHIN_S):
        _, printed = await process.communicate()
    shown = printed.decode()
    assert (process.returncode, says in shown) == (1, True), shown
    assert "Traceback" not in shown
    assert "    at " not in shown


async def test_a_key_of_another_server_ends_it_with_a_question(bus: IsolatedNats, tmp_path: Path) -> None:
    key = tmp_path / "other.nk"
    key.write_text(new_key()[0])
    await ends_with_a_question([sys.executable, str(EXAMPLES / "with_nats_py.py")], bus, tmp_path, name=NAME, key=key)


async def test_another_team_and_a_missing_key_end_it_with_a_line(bus: IsolatedNats, tmp_path: Path) -> None:
    program, key = [sys.executable, str(EXAMPLES / "with_nats_py.py")], bus.key(TEAM, NAME)
    other = "--key may not read this feed: are --team and --name"
    await ends_with_a_question(program, bus, tmp_path, name=NAME, key=key, team=OTHERS, says=other)
    none = tmp_path / "none.nk"
    await ends_with_a_question(program, bus, tmp_path, name=NAME, key=none, says=f"expected a key in {none}")


async def test_in_javascript(bus: IsolatedNats, center: Center, tmp_path: Path) -> None:
    if not shutil.which("npm") and not os.environ.get(NODE_IS_A_MUST):
        pytest.skip("there is no Node.js here: install it, or leave this to CI")
    folder = tmp_path / "javascript"
    shutil.copytree(EXAMPLES / "javascript", folder, ignore=shutil.ignore_patterns("node_modules"))
    install = await asyncio.create_subprocess_exec("npm", "ci", "--no-audit", "--no-fund", "--silent", cwd=folder)
    async with asyncio.timeout(2 * WITHIN_S):
        assert await install.wait() == 0
    await check(["node", "subscriber.mjs"], bus, center, folder)
    mine = bus.key(TEAM, NAME)
    await ends_with_a_question(["node", "subscriber.mjs"], bus, folder, name="another", key=mine)


async def test_with_faststream(bus: IsolatedNats, center: Center, tmp_path: Path) -> None:
    environ = {
        "ROTA_NATS_URL": bus.url,
        "ROTA_TEAM": TEAM,
        "ROTA_SUBSCRIBER": NAME,
        "ROTA_KEY": str(bus.key(TEAM, NAME)),
    }
    await center.deliver(TEAM, 20)
    assert counts(await running(environ, tmp_path, count=40)) == as_published(1, 10)
    await center.deliver(TEAM, 60)
    assert counts(await running(environ, tmp_path, count=120)) == as_published(11, 40)


async def running(environ: Mapping[str, str], folder: Path, *, count: int) -> list[dict[str, Any]]:
    """The first lines of a program that runs until SIGTERM."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(EXAMPLES / "with_faststream.py")),
        cwd=folder,
        env=os.environ | environ,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WITHIN_S):
            read = [json.loads(await process.stdout.readline()) for _ in range(count)]
            process.send_signal(signal.SIGTERM)
            rest, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return [*read, *(json.loads(line) for line in rest.splitlines())]
