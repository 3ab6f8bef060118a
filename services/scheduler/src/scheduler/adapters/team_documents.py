"""The documents of a team in each collection of the scheduler's database."""

from rota_common.stores.mongo import Document
from rota_common.stores.team_documents import Of, by, by_prefix
from scheduler.domain.queue import EntryState

LIVE: Document = {"live": True}
DUE: Document = {"state": EntryState.DUE, "due_at": {"$exists": True}}


def queued(team: str) -> Document:
    """A condition for each of the indexes: none has all that the queue holds of a team."""
    over: list[Document] = [{"state": state} for state in (EntryState.DONE, EntryState.REJECTED)]
    return {"$or": [{"team": team, **state} for state in (LIVE, DUE, *over)]}


TEAM_DOCUMENTS: dict[str, Of | None] = {
    "queue": queued,
    "plans": by("team"),
    "clocks": by_prefix("{team}/"),
    "withdrawals": by("question.team_id"),
    "leases": None,  # the dispatcher's
}
