"""A newcomer's first hour: the README's own commands, in its order, in a clean clone, against the clock."""

import asyncio
import json
import os
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rota_common.runtime.embedded_servers import free_port
from tests.integration.first_hour.readme import Block, blocks
from tests.integration.first_hour.terminal import Terminal, terminal

pytestmark = pytest.mark.soak

ROOT = Path(__file__).parents[3]
MINUTE = 60.0
STORY_S = 15 * MINUTE
ACTIVATE = "source .venv/bin/activate"
OURS = ("ROTA_", "OPENAI_", "PYTHONPATH", "VIRTUAL_ENV")
CONTAINERS = "Run it in containers"
SUCCESS = {
    "Run it": ("Ctrl+C stops everything", "Nothing is missing", '"member_id":"sales-assistant"'),
    "Post an event": ("stored for 1 robot",),
    "Receive a result": ("✓ verified",),
    "Write a robot": ("To: you@example.com",),
    "Write agents, and ask them": ("experts.clerk: created", '"agent_id":"experts.clerk"', "over MCP: ", "over A2A: "),
    "Subscribe to deliveries": ("rota.v1.delivery.completed.main.sales-assistant",),
    CONTAINERS: ("✓ verified",),
}
"""Section → what its terminals of their own show, and then what the first one shows."""


@dataclass
class Newcomer:
    """Follows the README section by section, and notes how long each one takes."""

    folder: Path
    stack: AsyncExitStack
    readme: list[Block] = field(default_factory=list)
    here: dict[str, str] = field(default_factory=dict)
    """What stands in the README → what it is on this machine, where other ports are free."""
    took: dict[str, float] = field(default_factory=dict)

    @property
    def clone(self) -> Path:
        return self.folder / "rota"

    def typed(self, commands: str) -> str:
        for theirs, ours in self.here.items():
            commands = commands.replace(theirs, ours)
        return commands

    @contextmanager
    def timing(self, section: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.took[section] = time.monotonic() - began

    async def terminal(self) -> Terminal:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        # Python's programs show each line at once, as they do to a person.
        return await self.stack.enter_async_context(terminal(self.clone, environ | {"PYTHONUNBUFFERED": "1"}))

    async def follow(self, section: str, first: Terminal) -> None:
        """Run a section's blocks until its success is shown."""
        with self.timing(section):
            since, shows = len(first.shown), iter(SUCCESS[section])
            for block in self.readme:
                if block.section != section:
                    continue
                if not block.own_terminal:
                    await first.run(self.typed(block.commands))
                    continue
                own = await self.terminal()
                own.start(self.typed(f"{ACTIVATE}\n{block.commands}"))
                await own.until(next(shows))
            for text in shows:
                await first.until(text, since=since)


async def first_hour(me: Newcomer) -> None:
    """All that the README has for a newcomer. In place of compose, the same Rota is used from elsewhere, with its admin
    key and without a context."""
    with me.timing("clone"):
        cloning = await asyncio.create_subprocess_exec("git", "clone", "--quiet", str(ROOT), str(me.clone))
        assert await cloning.wait() == 0
    me.readme = blocks((me.clone / "README.md").read_text())
    home, away, api, nats, out, smtp = me.folder / "home", me.folder / "away", *(str(free_port()) for _ in range(4))
    me.here = {
        ACTIVATE: f"{ACTIVATE}; export XDG_CONFIG_HOME={home}",
        "rota up": f"rota up --port {api} --nats-port {nats}",
        ":8080": f":{api}",
        "4222": nats,
        "1025": smtp,
        "9000": out,
    }
    greeter = me.clone / "examples" / "robots" / "greeter.yaml"
    greeter.write_text(me.typed(greeter.read_text()))
    first = await me.terminal()
    for section in SUCCESS:
        if section != CONTAINERS:
            await me.follow(section, first)
    await first.close()
    (context,) = (home / "rota" / "contexts").glob("*.json")
    me.here |= {
        "change-me": json.loads(context.read_text())["admin_key"],
        "docker compose up --build --wait": "true",
        "create main": "create elsewhere",
        "172.17.0.1": "127.0.0.1",
        "host.docker.internal": "localhost",
    }
    another = await me.terminal()
    await another.run(f"{ACTIVATE}; export XDG_CONFIG_HOME={away}")
    await me.follow(CONTAINERS, another)


@pytest.fixture(scope="module")
def took(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """Section → seconds."""

    async def followed() -> dict[str, float]:
        async with asyncio.timeout(STORY_S), AsyncExitStack() as stack:
            me = Newcomer(tmp_path_factory.mktemp("newcomer"), stack)
            await first_hour(me)
            return me.took

    return asyncio.run(followed())


@pytest.mark.parametrize(
    ("sections", "minutes"),
    [
        pytest.param(("Post an event", "Receive a result"), 5, id="an event accepted and a signed result verified"),
        pytest.param(("Subscribe to deliveries",), 3, id="a result read from NATS"),
        pytest.param(("Write a robot",), 5, id="a mail of a robot of one's own"),
        pytest.param(("Write agents, and ask them",), 3, id="an agent of one's own asked by curl, MCP and A2A"),
        pytest.param((CONTAINERS,), 5, id="a webhook of a Rota elsewhere"),
    ],
)
def test_the_readme_leads_from_a_clone_to_a_first_success_in_minutes(
    took: dict[str, float],
    sections: tuple[str, ...],
    minutes: int,
) -> None:
    """One who reads no other sections than these and the one on starting."""
    needed = {section: round(took[section], 1) for section in ("clone", "Run it", *sections)}
    assert sum(needed.values()) < minutes * MINUTE, needed
