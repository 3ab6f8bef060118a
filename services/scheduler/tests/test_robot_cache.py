"""The cards of all robots: how they come into memory, and what is read from the bucket instead (SC-14, SC-15)."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from pydantic import ValidationError

from rota_common.testing.samples import MEMBER, TEAM, a_robot
from rota_contracts.robots.robot import Robot
from scheduler.robot_cache import RobotCache
from scheduler.robot_summary import RobotSummary


class Bucket:
    """Definitions as they are read one by one, and what whoever follows them hears; `asked` counts the first."""

    def __init__(self, *robots: Robot) -> None:
        self.kept: dict[tuple[str, str], Robot | Exception] = {}
        self.news: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.asked = 0
        self.followed = 0
        self.put(*robots)

    def put(self, *robots: Robot) -> None:
        self.kept |= {(robot.team_id, robot.member_id): robot for robot in robots}

    def hears(self, *robots: Robot) -> None:
        for robot in robots:
            self.news.put_nowait(robot.model_dump_json().encode())

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
        while (text := await self.news.get()) is not None:
            yield text


class Keeping:
    """What was noted of clocks."""

    def __init__(self) -> None:
        self.noted: list[Any] = []

    async def begin(self) -> None:
        self.noted.append("begin")

    def note(self, summary: RobotSummary, clock: object) -> None:
        self.noted.append((summary.member, summary.rev))

    def all_noted(self) -> None:
        self.noted.append("all")


class StoredTrigger:
    """A directory that has read all there is, and follows."""

    def __init__(self, *robots: Robot) -> None:
        self.bucket, self.sync_clocks = Bucket(*robots), Keeping()
        self.directory = RobotCache(self.bucket, self.sync_clocks, refresh=60)  # type: ignore[arg-type]  # stand-ins

    async def __aenter__(self) -> "StoredTrigger":
        self._following = asyncio.create_task(self.directory.run())
        await self.directory.loaded.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)

    async def until_heard(self) -> None:
        while not self.bucket.news.empty():
            await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def rev(self, member: str = MEMBER, *, asked: int | None = None) -> int | None:
        summary = await self.directory.find(TEAM, member, rev=asked)
        return summary.rev if summary else None


async def test_what_is_there_at_the_start_is_known_without_another_look() -> None:  # SC-14 SC-15
    async with StoredTrigger(a_robot(rev=3), a_robot(member_id="bob", deleted=True)) as stored:
        found = await stored.directory.find(TEAM, "bob")
        assert found is not None
        assert found.deleted
        assert (await stored.rev(), await stored.rev(asked=3), stored.bucket.asked) == (3, 3, 0)
    assert stored.sync_clocks.noted == ["begin", (MEMBER, 3), ("bob", 1), "all"]


async def test_a_change_is_known_as_soon_as_it_is_heard_and_an_older_one_is_not() -> None:  # SC-15
    async with StoredTrigger(a_robot(rev=3)) as stored:
        stored.bucket.hears(a_robot(rev=5), a_robot(rev=4), a_robot(member_id="bob"))
        await stored.until_heard()
        assert (await stored.rev(), await stored.rev("bob"), stored.bucket.asked) == (5, 1, 0)


async def test_what_is_not_known_or_only_as_it_was_is_read_at_once() -> None:  # SC-14
    async with StoredTrigger(a_robot(rev=3)) as stored:
        stored.bucket.put(a_robot(rev=4), a_robot(member_id="bob"))
        assert (await stored.rev(), stored.bucket.asked) == (3, 0)
        assert (await stored.rev(asked=4), stored.bucket.asked) == (4, 1)
        assert (await stored.rev("bob"), stored.bucket.asked) == (1, 2)
        assert (await stored.rev(), await stored.rev("bob"), stored.bucket.asked) == (4, 1, 2)  # and kept
        assert await stored.rev("nobody") is None


async def test_robots_are_found_before_all_are_known() -> None:  # SC-14
    stored = StoredTrigger(a_robot(rev=3))
    assert (await stored.rev(), stored.bucket.asked) == (3, 1)


async def test_a_new_look_at_all_forgets_what_is_there_no_more() -> None:  # SC-15
    async with StoredTrigger(a_robot(), a_robot(member_id="bob")) as stored:
        del stored.bucket.kept[TEAM, "bob"]
        stored.bucket.put(a_robot(rev=2), a_robot(member_id="cid"))
        stored.directory.loaded.clear()
        stored.bucket.news.put_nowait(None)  # the hour is over
        await stored.directory.loaded.wait()
        assert (await stored.rev(), await stored.rev("cid"), stored.bucket.asked) == (2, 1, 0)
        assert (await stored.rev("bob"), stored.bucket.asked, stored.bucket.followed) == (None, 1, 2)


async def test_a_definition_that_can_not_be_read_harms_its_own_robot_only() -> None:
    async with StoredTrigger() as stored:
        stored.bucket.kept[TEAM, "broken"] = _invalid()
        stored.bucket.news.put_nowait(b'{"team_id": "acme"}')
        stored.bucket.hears(a_robot(rev=2))
        await stored.until_heard()
        assert await stored.rev() == 2
        with pytest.raises(ValidationError):
            await stored.directory.find(TEAM, "broken")


async def test_one_that_was_read_before_stays_as_it_was_known() -> None:
    async with StoredTrigger(a_robot(rev=2)) as stored:
        stored.bucket.kept[TEAM, MEMBER] = _invalid()
        stored.bucket.news.put_nowait(b"spoilt")
        await stored.until_heard()
        assert await stored.rev(asked=2) == 2
        with pytest.raises(ValidationError):
            await stored.rev(asked=3)


def _invalid() -> ValidationError:
    with pytest.raises(ValidationError) as found:
        Robot.model_validate_json(b"{}")
    return found.value
