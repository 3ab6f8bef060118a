"""Runs end with their long texts: the texts go first, and none of a run that isn't over."""

import asyncio
from datetime import timedelta
from unittest import mock

import pytest
from services.executor.tests.fixtures import new_run

from executor.adapters.in_memory import InMemoryBlobs, InMemoryRuns, in_memory
from executor.app import build
from executor.domain import lifecycle
from executor.domain.texts import owner_of, texts_again
from executor.runs.remove_runs import RemoveRuns
from executor.settings import Settings
from rota_common.errors import Permanent, Transient
from rota_common.runtime.service import Runtime
from rota_common.testing.in_memory_bus import InMemoryBus
from rota_common.testing.patience import PATIENCE_S
from rota_common.testing.samples import NOON, SetClock
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.text import INLINE_LIMIT, Text

LONG = "x" * (INLINE_LIMIT + 1)
KEEP = timedelta(days=90)


class Shop:
    """Two runs with a long text each: one is over since noon, the other waits for a person."""

    def __init__(self) -> None:
        self.clock, self.blobs = SetClock(), InMemoryBlobs()
        self.runs = InMemoryRuns(clock=self.clock, keep=KEEP)
        self.remove = RemoveRuns(runs=self.runs, blobs=self.blobs, clock=self.clock, keep=KEEP)
        self.texts: list[Text] = []

    async def fill(self) -> None:
        for name in ("over", "waiting"):
            run = new_run().with_execution(execution_id=name)
            assert await self.runs.create(run, owner="first", lease=timedelta(0)) == 1
            self.texts.append(await self.blobs.keep(LONG, owner=owner_of(run)))
            if name == "over":
                await self.runs.release(lifecycle.finish(run, ExecStatus.COMPLETED, now=NOON), 1, check_in=None)

    async def there(self) -> list[str]:
        return [name for name in ("over", "waiting") if await self.runs.is_there(name)]


async def test_long_texts_end_with_their_run_and_are_kept_as_long_as_it_is() -> None:
    shop = Shop()
    await shop.fill()
    over, waiting = shop.texts
    shop.clock.forward(KEEP.total_seconds() - 1)
    assert not await shop.remove()
    assert (await shop.there(), await shop.blobs.read(over)) == (["over", "waiting"], LONG)
    shop.clock.forward(1)
    assert not await shop.remove()
    assert await shop.there() == ["waiting"]
    with pytest.raises(Permanent):
        await shop.blobs.read(over)
    shop.clock.forward(1000 * 86400)
    await shop.remove()
    await shop.remove.strays()
    assert await shop.blobs.read(waiting) == LONG


async def test_a_run_whose_texts_can_not_be_removed_is_removed_later() -> None:
    shop = Shop()
    await shop.fill()
    shop.clock.forward(KEEP.total_seconds())
    shop.blobs.failure = Transient("NATS: not connected")
    with pytest.raises(Transient):
        await shop.remove()
    assert await shop.there() == ["over", "waiting"]
    shop.blobs.failure = None
    with mock.patch.object(shop.runs, "remove", side_effect=Transient("killed")), pytest.raises(Transient):
        await shop.remove()
    assert len(shop.blobs.contents) == 1, "texts go first: a killed executor leaves none behind"
    await shop.remove()
    assert await shop.there() == ["waiting"]


async def test_the_executor_removes_by_itself() -> None:
    shop = Shop()
    await shop.fill()
    shop.clock.forward(KEEP.total_seconds())
    runtime = Runtime(bus=InMemoryBus(), clock=shop.clock)
    app = build(Settings(), runtime=runtime, adapters=in_memory(runs=shop.runs, blobs=shop.blobs))
    gone, removed = asyncio.Event(), shop.runs.remove

    async def remove(run_ids: list[str]) -> None:
        await removed(run_ids)
        gone.set()

    with mock.patch.object(shop.runs, "remove", remove):
        await app.service.start()
        await asyncio.wait_for(gone.wait(), PATIENCE_S)
        await app.service.stop()
    assert (await shop.there(), len(shop.blobs.contents)) == (["waiting"], 1)


def test_a_replay_names_long_texts_as_they_were_named() -> None:
    run = new_run()
    names = {version: texts_again(run, version).text(LONG).ref for version in (0, 3, 4)}
    digest = names[3].sha256 if names[3] else ""
    assert {version: ref.name for version, ref in names.items() if ref} == {
        0: digest,
        3: digest,
        4: f"{run.execution.team_id}.{run.id}.{digest}",
    }
