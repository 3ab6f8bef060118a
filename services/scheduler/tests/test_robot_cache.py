"""The cache of all robots: how it is loaded, and what is read from the bucket instead (SC-14, SC-15)."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import ValidationError

from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts.robots.robot import Robot
from scheduler.domain.robot_summary import RobotSummary
from scheduler.robots.robot_cache import RobotCache


class Bucket:
    """The bucket of definitions, with its changes; `asked` counts the single reads."""

    def __init__(self, *robots: Robot) -> None:
        self.kept: dict[tuple[str, str], Robot | Exception] = {}
        self.changes: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.asked = 0
        self.followed = 0
        self.put(*robots)

    def put(self, *robots: Robot) -> None:
        self.kept |= {(robot.team_id, robot.member_id): robot for robot in robots}

    def change(self, *robots: Robot) -> None:
        for robot in robots:
            self.changes.put_nowait(robot.model_dump_json().encode())

    async def find(self, team: str, member: str) -> Robot | None:
        self.asked += 1
        found = self.kept.get((team, member))
        if isinstance(found, Exception):
            raise found
        return found

    async def follow(self, *, seconds: float) -> AsyncGenerator[bytes | None]:
        self.followed += 1
        for robot in list(self.kept.values()):
            yield robot.model_dump_json().encode() if isinstance(robot, Robot) else b"spoilt"
        yield None
        while (text := await self.changes.get()) is not None:
            yield text


class RecordedSync:
    """The noted definitions."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    async def begin_reading(self) -> None:
        self.noted.append("begin")

    def note(self, summary: RobotSummary, clock: object) -> None:
        self.noted.append((summary.member, summary.rev))

    def end_reading(self) -> None:
        self.noted.append("all")


class LoadedCache:
    """A cache that has read all definitions, and follows the changes."""

    def __init__(self, *robots: Robot) -> None:
        self.bucket, self.sync_clocks = Bucket(*robots), RecordedSync()
        self.cache = RobotCache(definitions=self.bucket, sync_clocks=self.sync_clocks, refresh=60)  # type: ignore[arg-type]  # stand-ins

    async def __aenter__(self) -> "LoadedCache":
        self._following = asyncio.create_task(self._run())
        await self.cache.loaded.wait()
        return self

    async def _run(self) -> None:
        while await self.cache.follow():
            pass

    async def __aexit__(self, *_: object) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def until_followed(self) -> None:
        while not self.bucket.changes.empty():
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def rev(self, member: str = MEMBER, *, asked: int | None = None) -> int | None:
        summary = await self.cache.find(TEAM, member, rev=asked)
        return summary.rev if summary else None


async def test_robots_stored_at_the_start_are_found_without_another_read() -> None:  # SC-14 SC-15
    async with LoadedCache(a_robot(rev=3), a_robot(member_id="bob", deleted=True)) as loaded:
        found = await loaded.cache.find(TEAM, "bob")
        assert found is not None
        assert found.deleted
        assert (await loaded.rev(), await loaded.rev(asked=3), loaded.bucket.asked) == (3, 3, 0)
    assert loaded.sync_clocks.noted == ["begin", (MEMBER, 3), ("bob", 1), "all"]


async def test_a_change_is_cached_at_once_and_an_older_one_is_ignored() -> None:  # SC-15
    async with LoadedCache(a_robot(rev=3)) as loaded:
        loaded.bucket.change(a_robot(rev=5), a_robot(rev=4), a_robot(member_id="bob"))
        await loaded.until_followed()
        assert (await loaded.rev(), await loaded.rev("bob"), loaded.bucket.asked) == (5, 1, 0)


async def test_a_missing_or_outdated_robot_is_read_at_once() -> None:  # SC-14
    async with LoadedCache(a_robot(rev=3)) as loaded:
        loaded.bucket.put(a_robot(rev=4), a_robot(member_id="bob"))
        assert (await loaded.rev(), loaded.bucket.asked) == (3, 0)
        assert (await loaded.rev(asked=4), loaded.bucket.asked) == (4, 1)
        assert (await loaded.rev("bob"), loaded.bucket.asked) == (1, 2)
        assert (await loaded.rev(), await loaded.rev("bob"), loaded.bucket.asked) == (4, 1, 2)  # and kept
        assert await loaded.rev("missing") is None


async def test_robots_are_found_before_all_are_loaded() -> None:  # SC-14
    loaded = LoadedCache(a_robot(rev=3))
    assert (await loaded.rev(), loaded.bucket.asked) == (3, 1)


async def test_a_refresh_drops_robots_that_are_gone() -> None:  # SC-15
    async with LoadedCache(a_robot(), a_robot(member_id="bob")) as loaded:
        del loaded.bucket.kept[TEAM, "bob"]
        loaded.bucket.put(a_robot(rev=2), a_robot(member_id="cid"))
        loaded.cache.loaded.clear()
        loaded.bucket.changes.put_nowait(None)  # the hour is over
        await loaded.cache.loaded.wait()
        assert (await loaded.rev(), await loaded.rev("cid"), loaded.bucket.asked) == (2, 1, 0)
        assert (await loaded.rev("bob"), loaded.bucket.asked, loaded.bucket.followed) == (None, 1, 2)


async def test_a_definition_that_can_not_be_read_harms_its_own_robot_only() -> None:
    async with LoadedCache() as loaded:
        loaded.bucket.kept[TEAM, "broken"] = _invalid()
        loaded.bucket.changes.put_nowait(b'{"team_id": "acme"}')
        loaded.bucket.change(a_robot(rev=2))
        await loaded.until_followed()
        assert await loaded.rev() == 2
        with pytest.raises(ValidationError):
            await loaded.cache.find(TEAM, "broken")


async def test_a_robot_whose_new_definition_is_invalid_stays_cached() -> None:
    async with LoadedCache(a_robot(rev=2)) as loaded:
        loaded.bucket.kept[TEAM, MEMBER] = _invalid()
        loaded.bucket.changes.put_nowait(b"spoilt")
        await loaded.until_followed()
        assert await loaded.rev(asked=2) == 2
        with pytest.raises(ValidationError):
            await loaded.rev(asked=3)


def _invalid() -> ValidationError:
    with pytest.raises(ValidationError) as found:
        Robot.model_validate_json(b"{}")
    return found.value
