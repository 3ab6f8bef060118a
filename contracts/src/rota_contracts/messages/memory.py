"""Questions to the memory: keep this, what do you know of that, forget it."""

from pydantic import Field

from rota_contracts.messages.learning import LessonType
from rota_contracts.model import Instant, Name, Part


def private_kb(team: str, member: str) -> str:
    """The label of a robot's private knowledge base (LE-04). Entries are keyed by team and member (DEC-31)."""
    return f"robot_{team}_{member}_kb"


MAX_PARTS = 1000
"""How many entries one text of a team may be kept as."""


def part_id(text_id: str, number: int) -> str:
    """The id of one part of a text that is too long for one entry; the first is number 1."""
    return f"{text_id}#{number}"


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


class RememberReply(Part):
    """How many entries were asked for and are kept now."""

    count: int


class SharedEntry(Part):
    """One piece of a team's shared knowledge (EX-27). Keeping it again under its id replaces it."""

    collection: Name
    id: str = Field(min_length=1, max_length=200)
    title: str = Field(default="", max_length=500)
    content: str = Field(min_length=1, max_length=20_000)
    updated_at: Instant


class Share(Part):
    """Question to the memory: keep these in the team's shared collections."""

    team_id: Name
    entries: list[SharedEntry] = Field(min_length=1, max_length=100)


class ShareReply(Part):
    """How many are kept."""

    count: int


class Unshare(Part):
    """Removes these entries of a team's collection, or with `ids` = None the whole collection."""

    team_id: Name
    collection: Name
    ids: list[str] | None = None


class SearchShared(Part):
    """Question to the memory: what does the team know of `query`? Without collections, in all of them."""

    team_id: Name
    query: str = Field(max_length=20_000)
    collections: list[Name] = []
    limit: int = Field(default=5, ge=1, le=100)


class SharedMatch(Part):
    """One piece of shared knowledge, and how well it fits."""

    entry: SharedEntry
    score: float


class SearchSharedReply(Part):
    """Best first."""

    entries: list[SharedMatch] = []


class Recall(Part):
    """Question to the memory: what does this robot know of `query`?"""

    team_id: Name
    member_id: Name
    query: str = Field(max_length=20_000)
    limit: int = Field(default=5, ge=1, le=100)
    collections: list[Name] = Field(default=[], description="shared ones to look into as well")
    shared_limit: int = Field(default=5, ge=1, le=100)


class RecalledEntry(Part):
    entry: MemoryEntry
    score: float


class RecallReply(Part):
    """Best first."""

    entries: list[RecalledEntry] = []
    shared: list[SharedMatch] = []


class Forget(Part):
    """Removes these entries, or with `ids` = None all that this robot knows; with `before` only what is older."""

    team_id: Name
    member_id: Name
    ids: list[str] | None = None
    before: Instant | None = None


class ForgetReply(Part):
    """How many entries were removed."""

    count: int
