"""Derived ids: the same thing has the same id everywhere, and two things never share one."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from rota_contracts.ids import derived_id, event_trigger_id, execution_id, fact_id, request_trigger_id

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def test_an_id_depends_on_its_parts_alone_and_for_ever() -> None:
    # Literal on purpose: another value would make every message in flight a different one.
    assert derived_id("acme", "leads", 4711, NOON) == "efcdd263-4dc9-5267-9e79-5341974db566"


def test_an_id_is_a_uuid() -> None:
    assert UUID(derived_id("a")).version == 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a_b", "c"), ("a", "b_c")),
        (("a", "b"), ("b", "a")),
        (("a", "b"), ("a,b",)),
        (("a", "b"), ('a","b',)),
        (("a",), ("a", "")),
        ((1,), ("1",)),
        ((NOON,), (NOON + timedelta(microseconds=1),)),
    ],
)
def test_different_parts_never_share_an_id(
    one: tuple[str | int | datetime], other: tuple[str | int | datetime]
) -> None:
    assert derived_id(*one) != derived_id(*other)


def test_the_same_instant_in_other_zones_is_the_same_id() -> None:
    zones = (UTC, timezone(timedelta(hours=-3, minutes=-30)), ZoneInfo("Asia/Shanghai"))
    assert len({derived_id("acme", NOON.astimezone(zone)) for zone in zones}) == 1


def test_an_instant_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="expected an instant with an offset, not 2026-03-02T12:00:00"):
        derived_id("acme", NOON.replace(tzinfo=None))


def test_teams_and_members_with_underscores_keep_apart() -> None:
    assert event_trigger_id("a_b", "leads", "1", "c") != event_trigger_id("a", "leads", "1", "b_c")


def test_one_event_is_one_trigger_per_robot() -> None:
    first, second = (event_trigger_id("acme", "leads", "evt_4711", member) for member in ("scorer", "router"))
    assert first != second


def test_a_trigger_and_its_execution_have_different_ids() -> None:
    assert execution_id("t1") != derived_id("t1")
    assert execution_id("t1") != execution_id("t2")


def test_facts_of_one_cause_differ_by_subject_and_by_step() -> None:
    ids = [fact_id("c", "s"), fact_id("c", "s", "1"), fact_id("c", "s", "2"), fact_id("c", "t"), fact_id("d", "s")]
    assert len(set(ids)) == len(ids)


def test_an_event_and_a_request_never_share_a_trigger() -> None:
    """Not even an event whose id its sender has chosen for it."""
    asked = request_trigger_id("t", "leads", "r1")
    assert asked != event_trigger_id("t", "leads", "request", "r1")
    assert asked != event_trigger_id("t", "leads", "r1", "")
    assert asked != event_trigger_id("requested trigger", "t", "leads", "r1")
