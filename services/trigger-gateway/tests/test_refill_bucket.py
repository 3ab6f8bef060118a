"""Copies of robots and definitions come back after their bucket was lost."""

from datetime import UTC, datetime

from rota_common.testing.samples import a_robot
from rota_contracts.definitions.definition import DefinitionKind
from rota_contracts.messages.definition import WrittenDefinition
from rota_contracts.streams import DEFINITIONS_BUCKET, ROBOTS_BUCKET
from trigger_gateway.adapters.in_memory import in_memory
from trigger_gateway.adapters.in_memory_buckets import InMemoryBuckets
from trigger_gateway.adapters.in_memory_definitions import InMemoryDefinitionCopies
from trigger_gateway.adapters.in_memory_stores import InMemoryDefinitions
from trigger_gateway.definitions.copy_definitions import CopyDefinitions
from trigger_gateway.definitions.record import Author, after, changes_of
from trigger_gateway.robots.record import RobotRecord
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.wiring import BucketCases, bucket_cases

AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MANY = 250
"""Robots: more than one batch."""


class House:
    """The gateway's records, and buckets that can be lost."""

    def __init__(self) -> None:
        self.buckets = InMemoryBuckets()
        self.robots = InMemoryDefinitions()
        self.copies = InMemoryDefinitionCopies()
        self.adapters = in_memory(buckets=self.buckets, definitions=self.robots, definition_copies=self.copies)

    @property
    def gateway(self) -> BucketCases:
        """As it starts."""
        sync = SyncRobots(records=self.adapters.robots, definitions=self.robots, events=self.robots)
        copy = CopyDefinitions(store=self.adapters.definition_store, copies=self.copies)
        return bucket_cases(self.adapters, sync=sync, copy=copy)

    async def starts(self) -> None:
        await self.gateway.robots()
        await self.gateway.definitions()

    async def fill(self) -> None:
        for number in range(MANY):
            robot = a_robot(member_id=f"robot-{number}")
            await self.adapters.robots.insert(RobotRecord(robot, AT))
        store = self.adapters.definition_store
        head = await store.head("acme")
        written = [WrittenDefinition(kind=DefinitionKind.AGENT, id="writer", spec={"prompt": "Write."})]
        made = after(head, changes_of(head, {}, written, prune=False, author=Author("a key", AT)), share=None, at=AT)
        assert made is not None
        await store.write(made, expected=head, at=AT)

    def lose(self) -> None:
        self.robots.robots.clear()
        self.copies.current.clear()
        self.copies.sets.clear()
        self.copies.definitions.clear()
        self.buckets.made = dict.fromkeys((ROBOTS_BUCKET, DEFINITIONS_BUCKET), "later")

    def holds(self) -> tuple[int, int, int, int]:
        """Robots, current sets, sets and definitions that others can read."""
        return len(self.robots.robots), len(self.copies.current), len(self.copies.sets), len(self.copies.definitions)


async def test_a_gateway_that_has_started_has_filled_new_buckets() -> None:
    house = House()
    await house.fill()
    await house.starts()
    assert house.holds() == (MANY, 1, 1, 1)
    house.lose()
    await house.starts()
    assert house.holds() == (MANY, 1, 1, 1)


async def test_a_bucket_that_is_the_one_that_was_filled_is_left_alone() -> None:
    house = House()
    await house.fill()
    await house.starts()
    written = house.copies.writes
    house.robots.robots.clear()
    await house.starts()
    assert (house.holds()[0], house.copies.writes) == (0, written)
