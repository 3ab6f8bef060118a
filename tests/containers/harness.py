"""A Rota in containers with a team, its robots, and the systems around it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx

from rota.client import Api
from rota.signing import new_secret
from tests.containers.engine import ROOT, host_address
from tests.containers.outside import Receiver, Sender, receiver
from tests.containers.project import Project

TEAM, SOURCE, CLIENT = "acme", "leads", "crm"
MAIL_TO = "sales@acme.example"
TYPES = tuple(f"lead.{number}" for number in range(1, 5))
"""Each has its robot, so that their shares of the slots don't hold up each other."""

RATE = float(os.environ.get("ROTA_CONTAINERS_RATE", "3"))
"""Events a second under load."""

RUNS = int(os.environ.get("ROTA_CONTAINERS_RUNS", "15"))
"""Results that are waited for before each kill or restart."""

COMPLETED = f"rota.v1.delivery.completed.{TEAM}."
SUBSCRIBER = ROOT / "examples" / "subscribers" / "with_nats_py.py"
R = TypeVar("R")


@dataclass
class World:
    project: Project
    api: Api
    receiver: Receiver
    secret: str
    feed_key: Path

    def sender(self, *, url: str = "", retries: bool = True) -> Sender:
        at = f"{url or self.project.gateway}/v1/hooks/{TEAM}/{SOURCE}"
        return Sender(at, self.secret, RATE, TYPES, retries=retries)

    async def mails(self) -> str:
        """What the mail catcher's API lists."""
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{self.project.mails}/api/v1/messages")).raise_for_status().text

    async def read_feed(self) -> list[str]:
        """The `request_id` of every `delivery.completed` that the team's program, the example, has read so far. It ends
        with an error if a number is missing."""
        seen, kept = self.project.folder / "seen.json", self.project.folder / "read.jsonl"
        names = ("--team", TEAM, "--name", CLIENT, "--key", str(self.feed_key), "--state", str(seen))
        with kept.open("ab") as output:
            reading = await asyncio.create_subprocess_exec(
                *(sys.executable, str(SUBSCRIBER), "--url", self.project.nats, *names, "--idle", "3", "--until-idle"),
                stdout=output,
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await reading.communicate()
        assert reading.returncode == 0, said.decode()
        facts = [json.loads(line) for line in kept.read_text().splitlines()]
        return [fact["request_id"] for fact in facts if fact["subject"].startswith(COMPLETED)]


@asynccontextmanager
async def a_world(project: Project, *, mails: bool = True) -> AsyncIterator[World]:
    """Without `mails` the robots' results go to the receiver alone."""
    async with AsyncExitStack() as ends:
        secret, out = new_secret(), new_secret()
        taking = await ends.enter_async_context(receiver(await aside(host_address), out))
        admin = await ends.enter_async_context(Api(project.gateway, TEAM, key=project.admin_key))
        key = str((await admin.create_team(TEAM))["api_key"])
        api = await ends.enter_async_context(Api(project.gateway, TEAM, key=key))
        for name, value in (("IN_SECRET", secret), ("OUT_SECRET", out)):
            await api.of_team("PUT", f"/secrets/{name}", json={"value": value})
        await api.add_source(SOURCE, "$SECRET.IN_SECRET")
        for kind in TYPES:
            await api.create_robot(robot(kind, taking.url, mails=mails))
        feed_key = await aside(project.add_feed_client, TEAM, CLIENT)
        yield World(project, api, taking, secret, feed_key)


def robot(kind: str, url: str, *, mails: bool = True) -> dict[str, Any]:
    """It sends each result to the receiver, and as a mail."""
    email = {"email": {"targets": [{"to": [MAIL_TO]}]}} if mails else {}
    return {
        "member_id": kind.replace(".", "-"),
        "robot_config": {
            "triggers": {"clock": {"enabled": False}, "event": {"enabled": True}},
            "events": [{"type": "webhook", "source": f"/webhook/{SOURCE}", "filter": {"event_types": [kind]}}],
            "identity": {"role": "Qualifies leads", "duties": ["Say how good a lead is"]},
            "quota": {"max": 10, "queue": 10_000},
            "delivery": {
                "preferences": {
                    "webhook": {"targets": [{"url": url, "secret": "$SECRET.OUT_SECRET"}]},
                    **email,
                },
            },
        },
    }


async def aside(work: Callable[..., R], *arguments: Any) -> R:
    """Blocking work, while senders and receivers go on."""
    return await asyncio.to_thread(work, *arguments)
