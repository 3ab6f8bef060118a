"""A wrong clock is refused with the field and an example of a right one, wherever it is written (SC-01 to SC-06)."""

from datetime import datetime, timedelta
from typing import Any

import httpx

from rota_contracts.ids import execution_id
from rota_contracts.messages.trigger import TriggerType

from .harness import Gateway, error_of, fields_of, robot
from .scheduler import Scheduler
from .test_robots import LEADER, ROBOTS

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


def names_only(answer: httpx.Response, field: str, example: str) -> bool:
    """The answer refuses this field alone, with this example."""
    [(path, message)] = fields_of(answer).items()
    return path == field and example in message


async def test_a_wrong_clock_is_refused_with_its_field_and_an_example(acme: Gateway) -> None:
    facts, config = acme.facts(), robot()["robot_config"]
    wrong: list[str] = []
    for name, (clock, field, example) in WRONG.items():
        answers = [
            await acme.call("POST", ROBOTS, json=robot("second", clock=clock)),
            await acme.call("PUT", LEADER, json=robot(clock=clock)),
            await acme.call("PATCH", LEADER, json={"robot_config": config | {"clock": clock}}),
        ]
        checked = await acme.call("POST", CHECK, json=clock)
        path = f"robot_config.clock.{field}".strip(".")
        refused = all(names_only(answer, path, example) for answer in answers) and names_only(checked, field, example)
        right = 'a right one: {"mode": "' in checked.json()["error"]["message"]
        if not (refused and right and error_of(checked) == (422, "invalid_clock")):
            wrong += [name, *(each.text for each in (*answers, checked))]
    assert not wrong
    assert (await acme.call("GET", LEADER)).json()["rev"] == 1
    assert acme.facts() == facts


async def test_a_clock_is_checked_without_a_robot(acme: Gateway) -> None:
    before = acme.app.service.runtime.clock()
    answer = await acme.call("POST", CHECK, key=await acme.make_key("viewer"), json=HOURLY)
    assert answer.status_code == 200
    checked = answer.json()
    assert checked["words"] == "every 1 hour, counted from when the clock was set"
    anchor = datetime.fromisoformat(checked["anchor"])
    assert before <= anchor <= acme.app.service.runtime.clock()
    upcoming = [datetime.fromisoformat(at) for at in checked["upcoming"]]
    assert upcoming == [anchor + timedelta(hours=hour) for hour in range(1, 6)]
    daemon = (await acme.call("POST", CHECK, json={"mode": "daemon"})).json()
    assert daemon["upcoming"] == []
    assert list(fields_of(await acme.call("POST", CHECK, json=HOURLY | {"evry": "1h"}))) == ["evry"]


async def test_a_body_that_is_no_clock_is_refused(acme: Gateway) -> None:
    for body in (b"", b"[]", b"null", b'"09:00"'):
        answer = await acme.call("POST", CHECK, content=body, headers={"content-type": "application/json"})
        assert error_of(answer) == (422, "invalid_request"), body


async def test_a_manual_clock_trigger_is_due_at_once(acme: Gateway, scheduler: Scheduler) -> None:
    answer = await acme.call("POST", f"{LEADER}/trigger", json={"type": "clock"})
    assert answer.status_code == 202
    [trigger] = acme.triggers()
    assert trigger.type is TriggerType.CLOCK
    assert trigger.scheduled_at == trigger.received_at
    assert trigger.input.clock is not None
    assert trigger.input.clock.now == trigger.scheduled_at
    assert answer.json()["execution_id"] == execution_id(trigger.trigger_id)
    await acme.call("POST", f"{LEADER}/trigger", json={"type": "event", "source": "leads"})
    assert [each.scheduled_at for each in acme.triggers()] == [trigger.received_at, None]
