"""Background loops of a service: started again, and part of its readiness."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest

from rota_common.runtime.service import Runtime, Service
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rota_common.runtime.supervised_loop.LONGEST_PAUSE_S", 0.01)


@contextlib.asynccontextmanager
async def running(service: Service) -> AsyncIterator[None]:
    await service.start()
    await service.started.wait()
    try:
        yield
    finally:
        await service.stop(1)


async def until(true: Callable[[dict[str, str]], bool], service: Service) -> dict[str, str]:
    async with asyncio.timeout(PATIENCE_S):
        while not true(found := await service.problems()):
            await asyncio.sleep(0.005)
    return found


def a_service() -> Service:
    return Service("executor", "", runtime=Runtime(bus=InMemoryBus()))


# SC-36
@pytest.mark.parametrize("form", ["every", "background"])
async def test_a_service_whose_loop_always_fails_is_not_ready_until_it_works(form: str) -> None:
    broken = True

    async def tick() -> None:
        if broken:
            raise ValueError("a bug")

    async def loop() -> None:
        await tick()
        supervised.worked()
        await asyncio.Event().wait()

    service = a_service()
    if form == "every":
        service.every(0.001, tick, name="tick")
    else:
        supervised = service.background("tick", loop)
    async with running(service):
        found = await until(bool, service)
        assert set(found) == {"loop tick"}
        assert found["loop tick"].startswith("failed ")
        assert found["loop tick"].endswith(" times in a row: ValueError: a bug")
        broken = False
        await until(lambda found: not found, service)


async def test_a_loop_that_fails_now_and_then_keeps_its_service_ready() -> None:
    calls = 0

    async def tick() -> None:
        nonlocal calls
        calls += 1
        if calls % 2:
            raise ValueError("a bug")

    service = a_service()
    service.every(0.0, tick, name="tick")
    async with running(service), asyncio.timeout(PATIENCE_S):
        while calls < 20:
            assert await service.problems() == {}
            await asyncio.sleep(0.001)


# SC-37
async def test_a_loop_that_returned_starts_again_and_counts_no_failure() -> None:
    runs, enough = [], asyncio.Event()

    async def loop() -> None:
        runs.append(1)
        if len(runs) == 5:
            enough.set()
            await asyncio.Event().wait()

    service = a_service()
    service.background("tick", loop)
    async with running(service):
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
        assert await service.problems() == {}


# SC-37
async def test_pauses_between_failures_grow_and_begin_anew_after_success(monkeypatch: pytest.MonkeyPatch) -> None:
    failures_at_pause: list[int] = []

    def backoff(attempt: int, **_: object) -> float:
        failures_at_pause.append(attempt)
        return 0.0

    monkeypatch.setattr("rota_common.runtime.supervised_loop.backoff", backoff)
    outcomes = [False, False, False, True, False, False]
    done = asyncio.Event()

    async def tick() -> None:
        if not outcomes:
            done.set()
            await asyncio.Event().wait()
        if not outcomes.pop(0):
            raise ValueError("a bug")

    service = a_service()
    service.every(0.0, tick, name="tick")
    async with running(service):
        await asyncio.wait_for(done.wait(), PATIENCE_S)
    assert failures_at_pause == [1, 2, 3, 1, 2]
