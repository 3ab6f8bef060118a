"""Receivers of every kind on loopback, over days of a clock that skips: what is sent to them, and how it ends."""

import socket
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from delivery_center.settings import Settings
from rota_common.runtime.embedded_servers import free_port
from rota_contracts.catalog import DELIVERY_ACCEPTED, DELIVERY_COMPLETED, DELIVERY_FAILED, DELIVERY_SETTLED
from rota_contracts.messages.delivery_log import TargetState
from tests.integration.delivery.harness import Harness, InMemoryHarness
from tests.integration.delivery.receivers import HttpReceiver, Manner, for_ever, hang, http_receiver
from tests.integration.delivery.watched_deliveries import Calendar, WatchedDeliveries

METADATA = "169.254.169.254"
INSIDE = "10.1.2.3"
SCHEDULE = Settings().retry_schedule
ALL = len(SCHEDULE) + 1
DAY_S = 86_400.0
TIMEOUT_S = 0.3
HEAD = b"HTTP/1.1 200 OK\r\n"
BEGUN = HEAD + b"content-length: 1000000000\r\n\r\n"


@pytest.fixture
def harness(in_memory_harness: Harness) -> Harness:
    return in_memory_harness


@dataclass(frozen=True)
class Case:
    """How a receiver is, and how a delivery to it ends. `lasts`: seconds on the calendar, from and to."""

    kind: str
    ends: TargetState
    attempts: int
    error: str | None = None
    lasts: tuple[float, float] = (0, 60)
    answers: tuple[int, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    manner: Manner | None = None
    host: str = "127.0.0.1"


DELIVERED, FAILED = TargetState.DELIVERED, TargetState.FAILED
SPREAD = (sum(SCHEDULE) * 0.8, sum(SCHEDULE) * 1.2 + 60)
GIVEN_UP = f"(given up after {ALL} attempts)"
NO_ANSWER = f"no answer within {TIMEOUT_S} s {GIVEN_UP}"
CASES = (
    Case("answers 500", FAILED, ALL, f"answered 500 {GIVEN_UP}", SPREAD, answers=(500,) * ALL),
    Case("is back at the third attempt", DELIVERED, 3, lasts=(244, 366 + 60), answers=(503, 502)),
    Case("429, Retry-After an hour", DELIVERED, 2, None, (3600, 3700), (429,), {"retry_after": "3600"}),
    Case("429, Retry-After ten years", DELIVERED, 2, None, (DAY_S, DAY_S + 60), (429,), {"retry_after": "315360000"}),
    Case("425 too early", DELIVERED, 2, answers=(425,)),
    Case("410", FAILED, 1, "answered 410", answers=(410,)),
    Case("404 while it is deployed", DELIVERED, 2, answers=(404,)),
    Case("answers 422", FAILED, ALL, f"answered 422 {GIVEN_UP}", SPREAD, answers=(422,) * ALL),
    Case("hangs", FAILED, ALL, NO_ANSWER, SPREAD, manner=hang),
    Case("endless body", DELIVERED, 1, manner=for_ever(b"x" * 4096, after=BEGUN)),
    Case("dripping body", DELIVERED, 1, manner=for_ever(b"x", after=BEGUN, every=0.05)),
    Case(
        "drips its headers", FAILED, ALL, NO_ANSWER, SPREAD,
        manner=for_ever(b"x", after=HEAD, every=0.05),
    ),
    Case(
        "endless headers", FAILED, ALL, "can't reach 127.0.0.1: RemoteProtocolError", SPREAD,
        manner=for_ever(b"x-filler: " + b"x" * 4096 + b"\r\n", after=HEAD),
    ),
    Case(
        "only informs", FAILED, ALL, NO_ANSWER, SPREAD,
        manner=for_ever(b"HTTP/1.1 103 Early Hints\r\n\r\n", every=0.01),
    ),
    Case(
        "redirects to the metadata", FAILED, ALL, "redirects are not followed", SPREAD,
        answers=(302,) * ALL, headers={"location": f"http://{METADATA}/latest/meta-data/"},
    ),
    Case("is at the metadata address", FAILED, 1, f"{METADATA}, which is not a public address", host=METADATA),
    Case("resolves to a private address", FAILED, 1, f"{INSIDE}, which is not a public address", host="inside.test"),
    Case("resolves to another one later", FAILED, 2, f"{INSIDE}, which is not", (4, 66), (500,), host="moving.test"),
    Case("has no address", FAILED, ALL, "can't resolve nowhere.test", SPREAD, host="nowhere.test"),
)  # fmt: skip


@pytest.fixture
def watched(in_memory_harness: InMemoryHarness) -> WatchedDeliveries:
    in_memory_harness.deliveries = made = WatchedDeliveries()
    return made


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers of a foreign name server."""
    lookup, moving = socket.getaddrinfo, iter(["127.0.0.1"])

    def getaddrinfo(host: str, port: int, **kind: Any) -> Any:
        match host:
            case "inside.test":
                host = INSIDE
            case "moving.test":
                host = next(moving, INSIDE)
            case "nowhere.test":
                raise socket.gaierror("no such name")
        return lookup(host, port, **kind)

    monkeypatch.setattr("rota_common.urls.socket.getaddrinfo", getaddrinfo)


def hook(url: str) -> dict[str, Any]:
    return {"preferences": {"webhook": {"targets": [{"url": url}]}}}


@pytest.mark.once
@pytest.mark.usefixtures("names")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind.replace(" ", "_"))
async def test_the_end_of_a_delivery_to_each_kind_of_receiver(
    harness: Harness, receiver: HttpReceiver, watched: WatchedDeliveries, case: Case
) -> None:  # F4, F22
    receiver.will_answer(*case.answers, **case.headers)
    receiver.manner = case.manner
    await harness.robot(hook(receiver.url(host=case.host)))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_SETTLED, DELIVERY_FAILED)
    calendar, seconds = Calendar(), TIMEOUT_S if case.manner else 120
    await harness.start(clock=calendar, attempt_timeout=seconds, retry_schedule=SCHEDULE)
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    delivery = await watched.finished("r1", calendar)
    (target,) = delivery.targets
    assert (target.state, len(target.attempts)) == (case.ends, case.attempts)
    assert (case.error or "") in (target.attempts[-1].error or "")
    lasted = (target.attempts[-1].at - target.attempts[0].at).total_seconds()
    assert case.lasts[0] <= lasted <= case.lasts[1]
    assert all(attempt.latency_ms < 3000 for attempt in target.attempts)
    asked = {METADATA: 0, "inside.test": 0, "nowhere.test": 0, "moving.test": 1}.get(case.host, case.attempts)
    assert [got.headers["webhook-id"] for got in receiver.got] == [target.delivery_id] * asked
    (settled,) = await harness.events(DELIVERY_SETTLED)
    assert settled.data.success is (case.ends is DELIVERED)
    assert len(str(settled.data.results[0].details)) < 2200
    if case.ends is FAILED:
        (failed,) = await harness.events(DELIVERY_FAILED)
        assert failed.data.result.attempts == case.attempts


@pytest.mark.once
async def test_a_receiver_that_was_down_for_a_day_receives_it_soon_after(
    harness: Harness, watched: WatchedDeliveries
) -> None:
    port, calendar = free_port(), Calendar()
    await harness.robot(hook(f"http://127.0.0.1:{port}/in"))
    await harness.listen(DELIVERY_ACCEPTED, DELIVERY_COMPLETED)
    await harness.start(clock=calendar, retry_schedule=SCHEDULE)
    began = calendar()
    await harness.request()
    await harness.events(DELIVERY_ACCEPTED)
    while calendar() - began < timedelta(days=1):
        delivery = await watched.resting("r1", calendar)
        assert delivery.due_at is not None
        calendar.skip_to(min(delivery.due_at, began + timedelta(days=1)))
    async with http_receiver(port=port) as receiver:
        delivery = await watched.finished("r1", calendar)
        (target,) = delivery.targets
        assert target.state is DELIVERED
        (got,) = receiver.got
        assert got.headers["webhook-id"] == target.delivery_id
    errors = [attempt.error for attempt in target.attempts[:-1]]
    assert 6 <= len(errors) <= 8
    assert all("can't reach 127.0.0.1" in str(error) for error in errors)
    assert target.attempts[-1].at - began < timedelta(days=2)
    assert len(await harness.in_stream(DELIVERY_COMPLETED)) == 1
