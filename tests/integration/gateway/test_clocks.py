"""A wrong clock is refused with the field and an example of a right one, wherever it is written (SC-01 to SC-06)."""

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from rota_contracts.ids import execution_id
from rota_contracts.messages.trigger import TriggerType
from tests.integration.gateway.harness import Gateway, fields_of, messages, robot, triggers
from tests.integration.gateway.test_robots import LEADER, ROBOTS
from tests.integration.gateway.test_webhooks import error_of

CHECK = "/v1/teams/acme/clock/check"
NINE: dict[str, Any] = {"mode": "times", "times": ["09:00"]}
HOURLY: dict[str, Any] = {"mode": "interval", "every": "1h"}

WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an unknown zone": (NINE | {"tz": "Mars/Base"}, "tz", "Europe/Paris"),
    "a zone that is no text": (NINE | {"tz": 1}, "tz", "Europe/Paris"),
    "an hour that isn't one": (NINE | {"times": ["09:00", "25:00"]}, "times.1", "17:30"),
    "a time that YAML has read as a number": (NINE | {"times": [1050]}, "times.0", "17:30"),
    "a time that is no list": (NINE | {"times": "09:00"}, "times", '["09:00", "17:30"]'),
    "no times": ({"mode": "times"}, "", '["09:00", "17:30"]'),
    "an empty list of times": ({"mode": "times", "times": []}, "", '["09:00", "17:30"]'),
    "an interval of 0m": (HOURLY | {"every": "0m"}, "every", "30m"),
    "an interval of 0": (HOURLY | {"every": "0"}, "every", "30m"),
    "an interval that is a number": (HOURLY | {"every": 30}, "every", "30m"),
    "an interval of a thousand years": (HOURLY | {"every": "365000d"}, "every", "30m"),
    "no interval": ({"mode": "interval"}, "", '"30m"'),
    "an unknown mode": (NINE | {"mode": "cron"}, "mode", "'times', 'interval' or 'daemon'"),
    "an unknown day": (NINE | {"days": ["Mon", "Funday"]}, "days.1", "Mon, Tue"),
    "a day that is no list": (NINE | {"days": "Mon"}, "days", '["Mon", "Fri"]'),
    "an unknown policy": (NINE | {"catch_up": {"policy": "maybe"}}, "catch_up.policy", "'skip', 'once' or 'all'"),
    "an age that isn't one": (NINE | {"catch_up": {"max_age": "yesterday"}}, "catch_up.max_age", "30m"),
    "an age of nothing": (NINE | {"catch_up": {"max_age": "0s"}}, "catch_up.max_age", "30m"),
    "a timeout that isn't one": ({"mode": "daemon", "timeout": "soon"}, "timeout", "30m"),
}


def named(answer: httpx.Response, field: str, example: str, *, under: str = "") -> bool:
    """Is it this field alone, with this example?"""
    [(path, message)] = fields_of(answer).items()
    return path == f"{under}.{field}".strip(".") and example in message


@pytest.mark.parametrize(("clock", "field", "example"), WRONG.values(), ids=WRONG)
async def test_a_wrong_clock_is_refused(acme: Gateway, clock: dict[str, Any], field: str, example: str) -> None:
    facts, path = await messages(acme.nats_url, "FACTS"), "robot_config.clock"
    config = robot()["robot_config"] | {"clock": clock}
    for answer in (
        await acme.call("POST", ROBOTS, json=robot("second", clock=clock)),
        await acme.call("PUT", LEADER, json=robot(clock=clock)),
        await acme.call("PATCH", LEADER, json={"robot_config": config}),
    ):
        assert named(answer, field, example, under=path), answer.text
    checked = await acme.call("POST", CHECK, json=clock)
    assert error_of(checked) == (422, "invalid_clock")
    assert named(checked, field, example), checked.text
    assert 'a right one: {"mode": "' in checked.json()["error"]["message"]
    assert (await acme.call("GET", LEADER)).json()["rev"] == 1
    assert await messages(acme.nats_url, "FACTS") == facts


async def test_a_clock_is_checked_without_a_robot(acme: Gateway) -> None:
    before = acme.app.service.runtime.clock()
    answer = await acme.call("POST", CHECK, key=await acme.make_key("viewer"), json=HOURLY)
    assert answer.status_code == 200
    said = answer.json()
    assert said["words"] == "every 1 hour, counted from when the clock was set"
    anchor = datetime.fromisoformat(said["anchor"])
    assert before <= anchor <= acme.app.service.runtime.clock()
    upcoming = [datetime.fromisoformat(at) for at in said["upcoming"]]
    assert upcoming == [anchor + timedelta(hours=hour) for hour in range(1, 6)]
    daemon = (await acme.call("POST", CHECK, json={"mode": "daemon"})).json()
    assert daemon["upcoming"] == []
    assert list(fields_of(await acme.call("POST", CHECK, json=HOURLY | {"evry": "1h"}))) == ["evry"]


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b'"09:00"'])
async def test_what_is_no_clock_at_all_is_refused(acme: Gateway, body: bytes) -> None:
    answer = await acme.call("POST", CHECK, content=body, headers={"content-type": "application/json"})
    assert error_of(answer) == (422, "invalid_request")


async def test_a_trigger_by_hand_in_place_of_the_clock_is_due_at_its_instant(acme: Gateway) -> None:
    answer = await acme.call("POST", f"{LEADER}/trigger", json={"type": "clock"})
    assert answer.status_code == 202
    [event] = await triggers(acme.nats_url)
    trigger = event.data
    assert trigger.type is TriggerType.CLOCK
    assert trigger.scheduled_at == trigger.received_at
    assert trigger.input.clock is not None
    assert trigger.input.clock.now == trigger.scheduled_at
    assert answer.json()["execution_id"] == execution_id(trigger.trigger_id)
    await acme.call("POST", f"{LEADER}/trigger", json={"type": "event"})
    assert [each.data.scheduled_at for each in await triggers(acme.nats_url)] == [trigger.received_at, None]
