"""Work at the end of a loop is finished, though the loop is cancelled again meanwhile."""

import asyncio
from typing import Any

import pytest

from rota_common.runtime.service import Service
from rota_common.to_the_end import to_the_end


class Counting(asyncio.Task[None]):
    """`enough` is set by the third cancellation."""

    def __init__(self, *given: Any, **options: Any) -> None:
        self.enough, self.times = asyncio.Event(), 0
        super().__init__(*given, **options)

    def cancel(self, msg: object = None) -> bool:
        self.times += 1
        if self.times == 3:
            self.enough.set()
        return super().cancel(msg)


async def test_a_service_that_stops_lets_its_loops_release_what_they_hold() -> None:
    """The stop cancels a loop again after 50 ms; here the release takes until the third time."""
    released = list[str]()

    async def release() -> None:
        await task.enough.wait()
        released.append("lease")

    async def loop() -> None:
        await asyncio.Event().wait()

    service = Service("executor", "nats://127.0.0.1:1")
    task = Counting(service.background("tick", loop, release=release)())
    service._tasks = [task]
    await asyncio.sleep(0)
    await service.stop(1)
    assert task.cancelled()
    assert released == ["lease"]


async def test_errors_are_the_callers() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await to_the_end(fails())
