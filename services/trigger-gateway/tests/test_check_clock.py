"""Previews of clocks."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from trigger_gateway.problems import Invalid
from trigger_gateway.robots.check_clock import EXAMPLES, check_clock

AT = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)  # a Friday; summer time begins on Sunday


def test_times_follow_their_zone_across_a_change_of_its_offset() -> None:  # SC-02, SC-03
    clock = {"mode": "times", "times": ["09:00"], "tz": "Europe/Paris"}
    checked = check_clock(clock, AT)
    assert checked.words == "at 09:00 every day, by the time of Europe/Paris"
    assert [at.isoformat() for at in checked.upcoming[:2]] == ["2026-03-28T08:00:00+00:00", "2026-03-29T07:00:00+00:00"]
    assert len(checked.upcoming) == 5


def test_an_interval_counts_from_now_and_a_daemon_has_no_instants() -> None:  # SC-04, SC-05
    assert [at.hour for at in check_clock({"mode": "interval", "every": "2h"}, AT).upcoming] == [14, 16, 18, 20, 22]
    daemon = check_clock({"mode": "daemon"}, AT)
    assert daemon.upcoming == []
    assert daemon.words.startswith("again and again")


def test_the_longest_interval_is_still_within_the_calendar() -> None:
    assert check_clock({"mode": "interval", "every": "3650d"}, AT).upcoming[-1].year == 2076


@pytest.mark.parametrize(
    ("clock", "mode"),
    [({"mode": "times"}, "times"), ({"mode": "interval", "every": "0m"}, "interval"), ({"mode": []}, "times")],
)
def test_a_wrong_clock_is_refused_with_an_example_of_its_mode(clock: dict[str, Any], mode: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_clock(clock, AT)
    assert f'a right one: {{"mode": "{mode}"' in refused.value.message


@pytest.mark.parametrize("example", EXAMPLES.values())
def test_the_examples_are_right(example: str) -> None:
    assert check_clock(json.loads(example), AT).words
