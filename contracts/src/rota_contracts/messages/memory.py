"""The memory of robots and teams: remember, recall, share, search and forget entries."""

from pydantic import Field

from rota_contracts.messages.learning import LessonType
from rota_contracts.model import Instant, Name, Part


def private_kb(team: str, member: str) -> str:
    """The label of a robot's private knowledge base. Entries are keyed by team and member."""
    return f"robot_{team}_{member}_kb"


MAX_PARTS = 1000
"""The largest number of entries that one text may be split into."""


def part_id(text_id: str, number: int) -> str:
    """The id of one part of a text that is too long for one entry; the first is number 1."""
    return f"{text_id}#{number}"


class MemoryEntry(Part):
    """One entry of a robot's memory. `id` is chosen by the caller: remembering it twice stores it once."""

    id: str
    type: LessonType
    content: str = Field(min_length=1, max_length=20_000)
    execution_id: str | None = None
    created_at: Instant
    scope: str = Field(default="", description="recalled by questions for this scope alone; empty: by those for none")
    rehearsed: bool = Field(default=False, description="a canned answer, which is never given to a model")


class Remember(Part):
    """Request to the memory: store entries of a robot."""

    team_id: Name
    member_id: Name
    entries: list[MemoryEntry]


class RememberReply(Part):
    """The number of entries that are stored now."""

    count: int


class SharedEntry(Part):
    """One entry of a team's shared knowledge. Storing its id again replaces it."""

    collection: Name
    id: str = Field(min_length=1, max_length=200)
    title: str = Field(default="", max_length=500)
    content: str = Field(min_length=1, max_length=20_000)
    updated_at: Instant


class Share(Part):
    """Request to the memory: store entries in the team's shared collections."""

    team_id: Name
    entries: list[SharedEntry] = Field(min_length=1, max_length=100)


class ShareReply(Part):
    """The number of entries that are stored now."""

    count: int


class Unshare(Part):
    """Request to the memory: remove entries of a shared collection; with `ids` null, the whole collection."""

    team_id: Name
    collection: Name
    ids: list[str] | None = None


class SearchShared(Part):
    """Request to the memory: search the team's shared knowledge, in all collections unless some are named."""

    team_id: Name
    query: str = Field(max_length=20_000)
    collections: list[Name] = []
    limit: int = Field(default=5, ge=1, le=100)


class SharedMatch(Part):
    """A shared entry with its score: 0.7 of the likeness in meaning and 0.3 of the query's words that it holds."""

    entry: SharedEntry
    score: float


class SearchSharedReply(Part):
    """The matches, best first."""

    entries: list[SharedMatch] = []


class Recall(Part):
    """Request to the memory: search what a robot has learnt."""

    team_id: Name
    member_id: Name
    query: str = Field(max_length=20_000)
    limit: int = Field(default=5, ge=1, le=100)
    collections: list[Name] = Field(default=[], description="shared collections to search as well")
    shared_limit: int = Field(default=5, ge=1, le=100)
    min_score: float = Field(default=0, ge=0, le=1, description="own entries that score lower are left out; 0: none")
    scope: str | None = Field(
        default="", description="own entries of this scope alone; empty: of no scope; null: no own entries"
    )
    rehearsed: bool = Field(default=False, description="canned answers as well: for runs without a model")


class RecalledEntry(Part):
    """An entry of a robot with its score, made as that of a `SharedMatch`."""

    entry: MemoryEntry
    score: float


class RecallReply(Part):
    """The matches, best first."""

    entries: list[RecalledEntry] = []
    shared: list[SharedMatch] = []


class Forget(Part):
    """Request to the memory: remove entries of a robot; with `ids` null, all of them, or all of the `scope`. `before`:
    only older ones."""

    team_id: Name
    member_id: Name
    ids: list[str] | None = None
    before: Instant | None = None
    scope: str | None = None


class ForgetReply(Part):
    """The number of entries that were removed."""

    count: int
