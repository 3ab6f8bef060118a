"""Buckets in memory, for tests."""

from dataclasses import dataclass, field

from trigger_gateway.copies.ports import Bucket


@dataclass
class InMemoryBuckets:
    """`made`: when each was made, if another one is there than at first."""

    made: dict[str, str] = field(default_factory=dict)

    async def look(self, name: str) -> Bucket:
        return Bucket(made=self.made.get(name, "at first"), empty=True)


class InMemoryFilledBuckets:
    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    async def find(self, name: str) -> str | None:
        return self._made.get(name)

    async def note(self, name: str, made: str) -> None:
        self._made[name] = made
