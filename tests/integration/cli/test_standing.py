"""The commands that tell how robots stand and who may do what, against a real gateway and stand-ins behind it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.robot import RobotStatus
from tests.integration.cli.world import World
from tests.integration.gateway.standins import DeliveryCenter

pytestmark = pytest.mark.integration

DUE = datetime(2026, 3, 28, 8, tzinfo=UTC)
CLOCK = {"mode": "times", "times": ["09:00"], "tz": "Europe/Paris"}


def standing(member: str) -> RobotState:
    words, runs = "at 09:00 every day, by the time of Europe/Paris", [DUE, DUE + timedelta(hours=23)]
    return RobotState(
        team_id="acme",
        member_id=member,
        status=RobotStatus.WORKING,
        active=True,
        next_run=DUE,
        clock=words,
        running=1,
        max_running=2,
        running_ids=["e1"],
        queued=3,
        max_queued=10,
        upcoming=runs,
    )


async def test_robots_are_listed_shown_and_their_next_runs_told(world: World) -> None:  # TG-22
    await world.gateway.make_robot("early", clock=CLOCK)
    world.scheduler.states["early"] = standing("early")
    listed = (await world.works("robots")).splitlines()
    early, leader = sorted(" ".join(line.split()) for line in listed[1:])
    assert early.startswith("early Lead Processor working 2026-03-28 09:00 Europe/Paris 1/2 3/10 clock")
    assert leader.startswith("leader Lead Processor idle - - - intervene")
    assert "running   1 of 2 at most: e1" in await world.works("robots", "show", "early")
    told = await world.works("robots", "next", "early", "--count", "2")
    assert "Sun 2026-03-29 09:00:00 +02:00  2026-03-29 07:00:00" in told
    assert "daylight saving: clocks in Europe/Paris go forward 60 minutes" in told
    assert world.scheduler.looked[-1].upcoming == 2


async def test_a_robot_that_the_scheduler_does_not_know_yet_is_told(world: World) -> None:
    refused = await world.run("robots", "show", "leader")
    assert refused.returncode == 1
    assert "the scheduler doesn't know robot leader yet" in refused.stderr


async def test_a_viewers_key_reads_and_changes_nothing(world: World) -> None:  # TG-24
    made = json.loads(await world.works("keys", "create", "--role", "viewer", "--name", "dashboard", "--json"))
    assert made["key_id"] in await world.works("keys")
    owners = world.rota.variables["ROTA_API_KEY"]
    world.rota.variables["ROTA_API_KEY"] = made["api_key"]
    assert "leader" in await world.works("robots")
    refused = await world.run("robots", "delete", "leader", "--yes")
    assert refused.returncode == 1
    assert "role_too_low" in refused.stderr
    world.rota.variables["ROTA_API_KEY"] = owners
    await world.works("keys", "delete", made["key_id"], "--yes")
    assert made["key_id"] not in await world.works("keys")


async def test_subscribers_are_added_listed_and_removed(world: World) -> None:  # DEC-12
    async with DeliveryCenter().running(world.nats.url):
        await world.works("subscriptions", "add", "sales", "ada")
        assert (await world.works("subscriptions")).splitlines()[1].split()[:2] == ["sales", "ada"]
        await world.works("subscriptions", "remove", "sales", "ada")
        assert "Nobody subscribes" in await world.works("subscriptions")
