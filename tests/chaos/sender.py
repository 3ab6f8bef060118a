"""The sender of webhooks: a few executions in flight, each webhook repeated under its id until it is accepted."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

import httpx
from standardwebhooks.webhooks import Webhook

from tests.chaos.leads import lead
from tests.chaos.robots import CALLER, CLERK, SOURCE, TALKER, TEAM
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.trap import Traps

TIMEOUT_S = 10.0
UNDER_WAY_S = 0.002
"""After so long a post counts as under way: a kill then hits the gateway in the middle of it."""

LOOK_S = 0.1
PAUSES_S = (0.1, 0.2, 0.5, 1.0)
ROBOTS = (TALKER, CALLER, CLERK)


@dataclass(frozen=True)
class Demand:
    """Is another webhook wanted at all, and is it wanted now?"""

    more: Callable[[], bool]
    now: Callable[[], bool]


class Sender:
    """While `may_post` is not set, it posts nothing new."""

    def __init__(self, gateway: str, secret: str, scoreboard: Scoreboard, traps: Traps, demand: Demand) -> None:
        self._url, self._secret = f"{gateway}/v1/hooks/{TEAM}/{SOURCE}", secret
        self._scoreboard, self._traps = scoreboard, traps
        self._demand = demand
        self._numbers = count(1)
        self.may_post = asyncio.Event()
        self.may_post.set()

    async def run(self, in_flight: int) -> None:
        """Return once no more is wanted and all that was posted has ended."""
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client, asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(self._one_after_the_other(client))

    async def _one_after_the_other(self, client: httpx.AsyncClient) -> None:
        while self._demand.more():
            await self.may_post.wait()
            if not self._demand.now():
                await asyncio.sleep(LOOK_S)
                continue
            number = next(self._numbers)
            entry = self._scoreboard.posted(lead(number), ROBOTS[number % len(ROBOTS)])
            event = {"type": entry.robot, "data": {"lead": entry.lead}}
            await self._until_accepted(client, entry.lead, event)
            await entry.over.wait()

    async def _until_accepted(self, client: httpx.AsyncClient, name: str, event: dict[str, Any]) -> None:
        for attempt in count():
            posting = asyncio.create_task(self._post(client, name, event))
            await asyncio.sleep(UNDER_WAY_S)
            await self._traps.reached("webhook posted", name)
            answer = await posting
            if answer is not None:
                (woken,) = answer["triggers"]
                self._scoreboard.accepted(name, woken["trigger_id"], woken["execution_id"])
                return
            await asyncio.sleep(PAUSES_S[min(attempt, len(PAUSES_S) - 1)])

    async def _post(self, client: httpx.AsyncClient, name: str, event: dict[str, Any]) -> dict[str, Any] | None:
        """The gateway's answer if it accepted, else None: then the same webhook is sent again."""
        body, at = json.dumps(event), datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "webhook-id": f"msg_{name}",
            "webhook-timestamp": str(int(at.timestamp())),
            "webhook-signature": Webhook(self._secret).sign(f"msg_{name}", at, body),
        }
        try:
            answer = await client.post(self._url, content=body, headers=headers)
        except httpx.HTTPError:
            return None
        if answer.status_code >= 500 or answer.status_code == 429:
            return None
        if not answer.is_success:
            raise RuntimeError(f"expected the gateway to accept {name}, got {answer.status_code}: {answer.text[:500]}")
        accepted: dict[str, Any] = answer.json()
        return accepted
