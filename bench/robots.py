"""A hundred thousand robots for the scheduler: definitions like the examples, put where the gateway puts them."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import nats

from rota_common.bus.robots import robot_key
from rota_contracts.robots.clock_config import Clock
from rota_contracts.robots.robot import Robot
from rota_contracts.streams import ROBOTS_BUCKET

EXAMPLES = Path(__file__).parent.parent / "contracts" / "examples" / "robot"
EACH_TEAM = 100
AT_ONCE = 1000
ZONES = ("UTC", "Europe/Paris", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Shanghai")
FEW_DAYS = ((), ("Mon", "Wed", "Fri"), ("Mon", "Tue", "Wed", "Thu", "Fri"))


def definitions(count: int, now: datetime) -> Iterator[tuple[str, bytes]]:
    """Key and JSON of each. Every one has a clock, and none of these is due within two hours of `now`: what is due
    while something is measured, the measurement says itself. So there are no daemons: a new one is due at once."""
    random = Random(count)
    models = [_model(name) for name in ("lead-processor.json", "sales-bot.json")]
    clocks = [_clock(random, now) for _ in range(1000)]
    for number in range(count):
        team, member = f"team-{number // EACH_TEAM:04}", f"robot-{number % EACH_TEAM:02}"
        model = models[number % len(models)]
        config = model["robot_config"] | {"clock": clocks[number % len(clocks)]}
        definition = model | {"team_id": team, "member_id": member, "rev": 1, "robot_config": config}
        yield robot_key(team, member), json.dumps(definition, separators=(",", ":")).encode()


def _model(name: str) -> dict[str, Any]:
    given = json.loads((EXAMPLES / name).read_text())
    given["robot_config"] |= {"triggers": {}}
    stored: dict[str, Any] = Robot.model_validate({"team_id": "any", **given}).model_dump(mode="json")
    return stored


def _clock(random: Random, now: datetime) -> dict[str, Any]:
    """One in five counts an interval; the others go by the time of day."""
    if random.random() < 0.2:
        clock = Clock.model_validate({"mode": "interval", "every": f"{random.randint(3, 48)}h"})
    else:
        tz = random.choice(ZONES)
        local = now.astimezone(ZoneInfo(tz))
        later = (local + timedelta(minutes=random.randint(130, 1300)) for _ in range(random.randint(1, 3)))
        times = sorted({f"{each:%H:%M}" for each in later})
        days = random.choice(FEW_DAYS)
        clock = Clock.model_validate({"mode": "times", "times": times, "days": days, "tz": tz})
    return clock.model_dump(mode="json")


async def fill(nats_url: str, count: int, now: datetime) -> int:
    """Put them into the bucket, a thousand at a time; the mean size of a definition in bytes."""
    client = await nats.connect(nats_url)
    jetstream, size = client.jetstream(timeout=30), 0
    try:
        for number, (key, text) in enumerate(definitions(count, now), 1):
            subject, size = f"$KV.{ROBOTS_BUCKET}.{key}", size + len(text)
            if number % AT_ONCE and number < count:
                await client.publish(subject, text)
            else:  # the acknowledgement of the last one says that the others are stored, too
                await jetstream.publish(subject, text)
        held = (await jetstream.stream_info(f"KV_{ROBOTS_BUCKET}")).state.messages
    finally:
        await client.close()
    if held != count:
        raise RuntimeError(f"expected {count} robots in the bucket, it holds {held}")
    return size // count
