"""The failure policy: retry or bury, with which delay and which reason."""

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from rota_common.bus.failure_policy import (
    MANY_DELIVERIES,
    MAX_BUG_DELIVERIES,
    PATIENCE,
    RETRY_CAP_S,
    Attempt,
    Bury,
    Later,
    decide,
)
from rota_common.errors import Permanent, Transient
from rota_contracts.envelope import EnvelopeError, OtherVersion

NEW = timedelta(seconds=1)
LONG = PATIENCE + timedelta(seconds=1)


class Outage(Exception):
    """The error of some store when it can't be reached."""


def decided(
    error: Exception,
    *,
    deliveries: int = 1,
    age: timedelta = NEW,
    failing: timedelta = NEW,
    parsed: bool = True,
    **given: Any,
) -> Later | Bury:
    attempt = Attempt(deliveries=deliveries, age=age, failing=failing, parsed=parsed)
    return decide(error, attempt, random=Random(7), **given)


def raised(parse: Callable[[], object]) -> ValidationError:
    with pytest.raises(ValidationError) as error:
        parse()
    return error.value


class Wanted(BaseModel):
    name: str


INVALID = raised(lambda: Wanted.model_validate({}))
NO_JSON = raised(lambda: Wanted.model_validate_json(b"no json"))
NO_OBJECT = raised(lambda: Wanted.model_validate_json(b"[]"))


@pytest.mark.parametrize("error", [Permanent("no such robot"), EnvelopeError("no ce-id"), NO_JSON, NO_OBJECT])
@pytest.mark.parametrize("deliveries", [1, 99])
def test_a_permanent_failure_is_buried_at_once(error: Exception, deliveries: int) -> None:
    assert isinstance(decided(error, deliveries=deliveries, parsed=False), Bury)


@pytest.mark.parametrize(("error", "parsed"), [(INVALID, True), (INVALID, False), (OtherVersion("v2"), False)])
def test_what_this_version_can_not_read_waits_for_one_that_can(error: Exception, parsed: bool) -> None:
    assert isinstance(decided(error, parsed=parsed), Later)
    assert isinstance(decided(error, parsed=parsed, deliveries=99, age=LONG), Later)
    assert isinstance(decided(error, parsed=parsed, deliveries=99, age=LONG, failing=LONG), Bury)


@pytest.mark.parametrize("deliveries", [1, 5, 6, 1000])
def test_a_transient_failure_is_redelivered_however_often_it_failed(deliveries: int) -> None:
    assert isinstance(decided(Transient("busy"), deliveries=deliveries, age=PATIENCE), Later)


def test_a_transient_failure_is_buried_when_it_has_failed_for_a_day() -> None:
    assert decided(Transient("busy"), deliveries=99, age=LONG, failing=LONG) == Bury("busy", "")
    assert isinstance(decided(Transient("busy"), deliveries=9, age=LONG, failing=LONG), Later)


def test_the_time_that_a_message_waited_for_its_first_try_does_not_count() -> None:
    assert isinstance(decided(Transient("busy"), age=timedelta(days=3)), Later)


def test_a_message_whose_failures_no_process_remembers_is_buried_after_very_many_tries() -> None:
    assert isinstance(decided(Transient("busy"), deliveries=MANY_DELIVERIES, age=LONG), Bury)


@pytest.mark.parametrize("after", [0, 0.2, 7, 3600])
def test_a_requested_delay_is_used(after: float) -> None:
    assert decided(Transient("busy", after=after), deliveries=9) == Later(after, "busy")


@pytest.mark.parametrize(("deliveries", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (6, 30), (10_000, 30)])
def test_without_a_requested_delay_delays_grow_up_to_a_limit(deliveries: int, seconds: float) -> None:
    later = decided(Transient("busy"), deliveries=deliveries)
    assert isinstance(later, Later)
    assert later.delay == pytest.approx(min(seconds, RETRY_CAP_S), rel=0.2)


def test_delays_are_jittered() -> None:
    random = Random(7)
    attempt = Attempt(deliveries=3, age=NEW, failing=NEW)
    delays = {decide(Transient("busy"), attempt, random=random) for _ in range(20)}
    assert len(delays) == 20


@pytest.mark.parametrize(
    ("deliveries", "kind"), [(1, Later), (MAX_BUG_DELIVERIES - 1, Later), (MAX_BUG_DELIVERIES, Bury), (99, Bury)]
)
def test_a_bug_is_tried_five_times_and_then_buried(deliveries: int, kind: type[object]) -> None:
    assert isinstance(decided(KeyError("x"), deliveries=deliveries), kind)


def test_an_outage_of_the_service_s_own_store_is_transient() -> None:
    assert isinstance(decided(Outage("away"), deliveries=99, outages=(Outage,)), Later)
    assert isinstance(decided(Outage("away"), deliveries=99), Bury)
    assert isinstance(decided(Outage("away"), deliveries=99, age=LONG, failing=LONG, outages=(Outage,)), Bury)


def test_a_bug_is_named_with_its_kind_and_its_place() -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        found = decided(error, deliveries=9)
    assert isinstance(found, Bury)
    assert found.reason == "KeyError: 'x'"
    assert found.trace.startswith("test_failure_policy.py:")
    assert found.trace.endswith("in test_a_bug_is_named_with_its_kind_and_its_place")


def test_a_reason_is_never_too_long_for_a_header() -> None:
    found = decided(Permanent("x" * 5000))
    assert isinstance(found, Bury)
    assert len(found.reason) == 2000
