"""Commands about robots, keys and subscriptions, against a real gateway with stand-ins behind it."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from rota_contracts.messages.robot_state import RobotState
from rota_contracts.robots.robot import RobotStatus
from tests.integration.cli.harness import System, entered
from tests.integration.gateway.stand_ins import DeliveryCenter

pytestmark = pytest.mark.integration

DUE = datetime(2026, 3, 28, 8, tzinfo=UTC)
CLOCK = {"mode": "times", "times": ["09:00"], "tz": "Europe/Paris"}


def state_of(member: str) -> RobotState:
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


def test_robots_are_listed_and_shown_with_their_next_runs(system: System) -> None:  # TG-22
    system.beside(system.gateway.make_robot("early", clock=CLOCK))
    system.scheduler.states["early"] = state_of("early")
    listed = system.rota.works("robots").splitlines()
    early, leader = sorted(" ".join(line.split()) for line in listed[1:])
    assert early.startswith("early Lead Processor working 2026-03-28 09:00 Europe/Paris 1/2 3/10 - clock")
    assert leader.startswith("leader Lead Processor idle - - - - intervene")
    assert "running   1 of at most 2: e1" in system.rota.works("robots", "show", "early")
    printed = system.rota.works("robots", "next", "early", "--count", "2")
    assert "Sun 2026-03-29 09:00:00 +02:00  2026-03-29 07:00:00" in printed
    assert "daylight saving: clocks in Europe/Paris go forward 60 minutes" in printed
    assert system.scheduler.looked[-1].upcoming == 2


def test_a_robot_unknown_to_the_scheduler_is_an_error(system: System) -> None:
    refused = system.rota.run("robots", "show", "leader")
    assert refused.returncode == 1
    assert "the scheduler doesn't know robot leader yet" in refused.stderr


def test_a_viewers_key_reads_and_changes_nothing(system: System) -> None:  # TG-24
    made = json.loads(system.rota.works("keys", "create", "--role", "viewer", "--name", "dashboard", "--json"))
    assert made["key_id"] in system.rota.works("keys")
    owners = system.rota.variables["ROTA_API_KEY"]
    system.rota.variables["ROTA_API_KEY"] = made["api_key"]
    assert "leader" in system.rota.works("robots")
    refused = system.rota.run("robots", "delete", "leader", "--yes")
    assert refused.returncode == 1
    assert "role_too_low" in refused.stderr
    system.rota.variables["ROTA_API_KEY"] = owners
    system.rota.works("keys", "delete", made["key_id"], "--yes")
    assert made["key_id"] not in system.rota.works("keys")


def test_subscriptions_are_added_listed_and_removed(system: System) -> None:  # DEC-12
    with entered(system.beside, DeliveryCenter().running(system.nats_url)):
        system.rota.works("subscriptions", "add", "sales", "ada")
        assert system.rota.works("subscriptions").splitlines()[1].split()[:2] == ["sales", "ada"]
        system.rota.works("subscriptions", "remove", "sales", "ada")
        assert "There are no subscriptions" in system.rota.works("subscriptions")
