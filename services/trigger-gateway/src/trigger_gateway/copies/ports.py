"""Ports of the buckets that hold copies for other services."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Bucket:
    """A bucket as it is now. `made`: when the server made it, which sets it apart from one of the same name before.
    `empty`: it holds nothing."""

    made: str
    empty: bool


class Buckets(Protocol):
    async def look(self, name: str) -> Bucket:
        """Raise Transient while it can't be reached, or isn't there yet."""
        ...


class FilledBuckets(Protocol):
    """Which bucket of each name the copies were made in last: kept, and restored, with the records."""

    async def find(self, name: str) -> str | None:
        """When that bucket was made; None if none was noted."""
        ...

    async def note(self, name: str, made: str) -> None: ...
