"""The load of the flood: one team's robots are flooded with webhooks, another team's run by the clock."""

import asyncio
import json
from collections import Counter
from datetime import datetime, timedelta
from random import Random
from time import perf_counter
from typing import Any

import httpx

from bench.http import Connection
from bench.system import ADMIN, signed
from rota_common.stores.mongo import Database
from rota_common.testing.bus import stored
from rota_contracts.catalog import EXECUTION_FINISHED, TRIGGER_ADMITTED, TRIGGER_REJECTED

FLOODED, CLOCKED, SOURCE = "flooded", "clocked", "flood"
FLOODED_ROBOTS, CLOCKED_ROBOTS = 200, 50
QUOTA = {"max": 1, "queue": 5}
BACKLOG, BETWEEN_REPORTS = 5, 10
LIMIT = QUOTA["max"] + BACKLOG + BETWEEN_REPORTS
"""Of one robot: what runs, its backlog, and the events that gateways accept before they hear that it is full."""

EVERY_S = 10
CONNECTIONS = 32
SAMPLE_S = 0.5


class Gateway:
    """The requests of owners and publishers, over HTTP."""

    def __init__(self, host: str, port: int, seed: int) -> None:
        self._host, self._port = host, port
        self._random = Random(seed)
        self.answers: Counter[int] = Counter()
        self.triggers: list[str] = []

    async def prepare(self) -> None:
        """Make the teams and robots. The clocks of the clocked are spread over their interval: all at one instant
        would be more work than two seconds hold, flood or no flood."""
        url = f"http://{self._host}:{self._port}"
        async with httpx.AsyncClient(trust_env=False, base_url=url, headers=ADMIN, timeout=30) as client:
            for team in (FLOODED, CLOCKED):
                await _make(client, "", {"team_id": team})
            await _make(client, f"/{FLOODED}/sources", {"name": SOURCE, "secret": "$ENV.BENCH_SECRET"})
            for number in range(FLOODED_ROBOTS):
                await _make(client, f"/{FLOODED}/robots", _flooded(number))
            began = perf_counter()
            for number in range(CLOCKED_ROBOTS):
                await asyncio.sleep(began + number * EVERY_S / CLOCKED_ROBOTS - perf_counter())
                await _make(client, f"/{CLOCKED}/robots", _clocked(number))

    async def flood(self, rate: int, count: int) -> float:
        """Send so many webhooks, each for one robot; returns the rate per second."""
        numbers, began = iter(range(count)), perf_counter()

        async def publisher() -> None:
            connection = Connection(self._host, self._port)
            for number in numbers:
                await asyncio.sleep(max(0, began + number / rate - perf_counter()))
                await self._post(connection, number)
            connection.close()

        await asyncio.gather(*(publisher() for _ in range(CONNECTIONS)))
        return count / (perf_counter() - began)

    async def _post(self, connection: Connection, number: int) -> None:
        event = {"type": f"lead.{self._random.randrange(FLOODED_ROBOTS)}", "data": {"number": number}}
        body = json.dumps(event).encode()
        status, answer = await connection.post(f"/v1/hooks/{FLOODED}/{SOURCE}", body, signed(body))
        self.answers[status] += 1
        if status == 202:
            self.triggers += [each["trigger_id"] for each in answer["triggers"]]


async def _make(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    answer = await client.post(f"/v1/teams{path}", json=body)
    if answer.status_code != 201:
        raise RuntimeError(f"expected 201 from /v1/teams{path}, got {answer.status_code}: {answer.text}")


def _flooded(number: int) -> dict[str, Any]:
    event = {"type": "webhook", "source": SOURCE, "filter": {"event_types": [f"lead.{number}"]}}
    config = {"identity": {"role": "Lead Scorer"}, "quota": QUOTA, "events": [event]}
    return {"member_id": f"robot-{number}", "robot_config": config}


def _clocked(number: int) -> dict[str, Any]:
    clock = {"mode": "interval", "every": f"{EVERY_S}s"}
    config = {"identity": {"role": "Watchman"}, "quota": {"max": 1, "queue": 2}, "clock": clock}
    return {"member_id": f"robot-{number}", "robot_config": config}


class Held:
    """The most that one flooded robot ever had running and waiting, as samples of the scheduler's store show it."""

    def __init__(self, database: Database) -> None:
        self._queue = database["queue"]
        self.most = 0

    async def sample(self) -> None:
        """Until it is cancelled."""
        each = {"_id": "$member", "held": {"$sum": 1}}
        while True:
            found = self._queue.aggregate([{"$match": {"live": True, "team": FLOODED}}, {"$group": each}])
            self.most = max([self.most, *[robot["held"] async for robot in found]])
            await asyncio.sleep(SAMPLE_S)


class Facts:
    """The facts of the flooded robots: triggers admitted and rejected, and the most that one robot ever held."""

    def __init__(self) -> None:
        self.admitted: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.most_held = 0

    @classmethod
    async def read(cls, nats_url: str) -> "Facts":
        facts, steps = cls(), list[tuple[datetime, int, str]]()
        for admitted in await stored(nats_url, TRIGGER_ADMITTED):
            if admitted.data.team_id == FLOODED:
                facts.admitted[admitted.data.trigger_id] += 1
                steps.append((admitted.data.admitted_at, 1, admitted.data.member_id))
        for rejected in await stored(nats_url, TRIGGER_REJECTED):
            if rejected.data.team_id == FLOODED:
                facts.rejected[rejected.data.trigger_id] += 1
        for finished in await stored(nats_url, EXECUTION_FINISHED):
            if finished.data.team_id == FLOODED:
                steps.append((finished.data.finished_at, -1, finished.data.member_id))
        held = Counter[str]()
        for _, step, member in sorted(steps):
            held[member] += step
            facts.most_held = max(facts.most_held, held[member])
        return facts


async def due(database: Database, since: datetime, until: datetime) -> set[tuple[str, datetime]]:
    """Each run of the clocked robots that was due in this time: member and instant, by what the clocks count from."""
    found, every = set[tuple[str, datetime]](), timedelta(seconds=EVERY_S)
    async for clock in database["clocks"].find({"_id": {"$regex": f"^{CLOCKED}/"}}):
        member, anchor = clock["_id"].partition("/")[2], clock["anchor"]
        numbers = range((since - anchor) // every + 1, (until - anchor) // every + 1)
        found |= {(member, anchor + number * every) for number in numbers}
    return found
