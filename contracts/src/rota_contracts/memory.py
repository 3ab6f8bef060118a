"""Questions to the memory: keep this, what do you know of that, forget it."""

from pydantic import Field

from rota_contracts.learning import LessonType
from rota_contracts.model import Instant, Name, Part


def private_kb(team: str, member: str) -> str:
    """The label of a robot's private knowledge base (LE-04). Entries are keyed by team and member (Decision 31)."""
    return f"robot_{team}_{member}_kb"


class MemoryEntry(Part):
    """`id` is the caller's: remembering it twice keeps it once."""

    id: str
    type: LessonType
    content: str = Field(min_length=1, max_length=20_000)
    execution_id: str | None = None
    created_at: Instant


class Remember(Part):
    """Question to the memory: keep these entries for this robot."""

    team_id: Name
    member_id: Name
    entries: list[MemoryEntry]


class Remembered(Part):
    """How many entries were asked for and are kept now."""

    count: int


class Recall(Part):
    """Question to the memory: what does this robot know of `query`?"""

    team_id: Name
    member_id: Name
    query: str = Field(max_length=20_000)
    limit: int = Field(default=5, ge=1, le=100)


class RecalledEntry(Part):
    entry: MemoryEntry
    score: float


class Recalled(Part):
    """Best first."""

    entries: list[RecalledEntry] = []


class Forget(Part):
    """Removes these entries, or with `ids` = None all that this robot knows."""

    team_id: Name
    member_id: Name
    ids: list[str] | None = None


class Forgotten(Part):
    """How many entries were removed."""

    count: int
