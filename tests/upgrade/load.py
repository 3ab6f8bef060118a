"""The load of an upgrade: signed webhooks, a clock and calls of agents, through whichever gateway is there."""

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any

import httpx

from rota.demo.external_systems import Hook, Inbox
from rota.signing import signed_event
from rota_common.clock import now
from tests.upgrade.fleet import ADMIN, Fleet

TEAM, SOURCE, CLERK, WATCH, AGENT = "acme", "leads", "clerk", "watch", "rota.title"
EVERY_S, PAUSE_S, LOOK_S = 10, 0.3, 0.5
IN_FLIGHT = 6
"""Leads at once that were accepted and aren't delivered: a slow machine gets fewer, and no backlog."""

LONGEST_S = 120.0
"""In which all that was accepted must have ended and be delivered, once nothing more is sent."""


def robot(member: str, hook_url: str, **woken_by: Any) -> dict[str, Any]:
    return {
        "member_id": member,
        "robot_config": {
            "identity": {"role": member, "duties": ["See every lead through", "Report what is new"]},
            "quota": {"max": 100, "queue": 1000},
            "resources": {"agents": [member, "writer"]},
            "delivery": {"type": "webhook", "opts": {"url": hook_url, "secret": "$ENV.OUT_SECRET"}},
            **woken_by,
        },
    }


def robots(hook_url: str) -> list[dict[str, Any]]:
    clock = {"mode": "interval", "every": f"{EVERY_S}s", "catch_up": {"policy": "all"}}
    return [
        robot(CLERK, hook_url, events=[{"type": "webhook", "source": f"/webhook/{SOURCE}"}]),
        robot(WATCH, hook_url, clock=clock, triggers={"clock": {"enabled": True}}),
    ]


@dataclass
class Load:
    """`sent_again` and `failed` count answers by status; `accepted` is webhook → execution."""

    fleet: Fleet
    secret: str
    hooks: Inbox[Hook]
    accepted: dict[str, str] = field(default_factory=dict)
    called: int = 0
    sent_again: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    began: float = field(default_factory=monotonic)

    async def run(self) -> None:
        """Until it is cancelled between two requests, by `end`."""
        self._ending = asyncio.Event()
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=30) as self._client:
            await asyncio.gather(self._repeat(self._post), self._repeat(self._call))

    def end(self) -> None:
        self._ending.set()

    async def _repeat(self, request: Any) -> None:
        for number in count(1):
            if self._ending.is_set():
                return
            await request(number)
            await asyncio.sleep(PAUSE_S)

    async def _post(self, number: int) -> None:
        """A webhook, sent again under its id until it is accepted."""
        name = f"lead-{number}"
        data = {"name": name, "company": f"Company {number}"}
        while len(self.accepted.keys() - self._delivered_leads()) >= IN_FLIGHT and not self._ending.is_set():
            await asyncio.sleep(PAUSE_S)
        for attempt in count():
            body, headers = signed_event(self.secret, message_id=name, at=now(), type="lead.created", data=data)
            path = f"/v1/hooks/{TEAM}/{SOURCE}"
            answer = await self._send(attempt, path, content=body, headers=headers)
            if answer is not None:
                (woken,) = answer["triggers"]
                self.accepted[name] = woken["execution_id"]
                return
            await asyncio.sleep(PAUSE_S)

    async def _call(self, number: int) -> None:
        """A call of an agent, which goes from the gateway to an executor and back."""
        body = {"messages": [{"role": "user", "content": f"Lead {number}"}], "request_id": f"call-{number}"}
        for attempt in count():
            answer = await self._send(attempt, f"/v1/teams/{TEAM}/agents/{AGENT}/call", json=body)
            if answer is not None:
                self.called += 1
                if answer["error"] or not answer["content"]:
                    self.failed.append(f"call {number}: {answer}")
                return
            await asyncio.sleep(PAUSE_S)

    async def _send(self, attempt: int, path: str, **request: Any) -> dict[str, Any] | None:
        """By one gateway after the other; None if it is to be sent again."""
        gateways = self.fleet.gateways
        try:
            answer = await self._client.post(gateways[(attempt + len(self.accepted)) % len(gateways)] + path, **request)
        except httpx.HTTPError as error:
            self.sent_again[type(error).__name__] += 1
            return None
        if answer.status_code == 503:
            self.sent_again[answer.text[:200]] += 1
            return None
        if not answer.is_success:
            self.failed.append(f"{path}: {answer.status_code} {answer.text[:300]}")
            return {"triggers": [{"execution_id": "none"}], "error": "", "content": "refused"}
        found: dict[str, Any] = answer.json()
        return found

    async def executions(self, member: str) -> dict[str, str]:
        """Execution → status, of a robot."""
        found, after = dict[str, str](), ""
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=30) as client:
            while True:
                query = {"member_id": member, "limit": 100, "after": after}
                url = f"{self.fleet.gateways[0]}/v1/teams/{TEAM}/executions"
                page = (await client.get(url, params=query)).raise_for_status().json()
                found |= {each["execution_id"]: each["status"] for each in page["executions"]}
                if not (after := page.get("next") or ""):
                    return found

    async def all_delivered(self) -> dict[str, str]:
        """What isn't, after two minutes: execution → status. A run of the clock is due that had begun by now."""
        wanted, deadline = {*self.accepted.values(), *await self.executions(WATCH)}, monotonic() + LONGEST_S
        while True:
            ended = await self.executions(CLERK) | await self.executions(WATCH)
            missing = {each for each in wanted if ended.get(each) != "completed" or each not in self.delivered}
            if not missing or monotonic() > deadline:
                return {each: ended.get(each, "never begun") for each in missing}
            await asyncio.sleep(LOOK_S)

    async def first_completed(self) -> None:
        async with asyncio.timeout(LONGEST_S):
            while "completed" not in (await self.executions(CLERK)).values():
                await asyncio.sleep(LOOK_S)

    def _delivered_leads(self) -> set[str]:
        """By the event that a result answers."""
        return {hook.body["data"].get("event", {}).get("id", "") for hook in self.hooks.received}

    @property
    def delivered(self) -> dict[str, set[str]]:
        """Execution → the ids under which its result came."""
        found = defaultdict[str, set[str]](set)
        for hook in self.hooks.received:
            found[hook.body["data"]["context"]["execution_id"]].add(hook.id)
        return found

    async def dead_letters(self) -> list[Any]:
        async with httpx.AsyncClient(trust_env=False, headers=ADMIN, timeout=30) as client:
            answer = (await client.get(f"{self.fleet.gateways[0]}/v1/dead")).raise_for_status().json()
        letters: list[Any] = answer["dead"]
        return letters
