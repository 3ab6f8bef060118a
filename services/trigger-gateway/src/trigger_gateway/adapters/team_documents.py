"""The documents of a team in each collection of the gateway's database."""

from rota_common.stores.team_documents import Of, by, by_prefix

TEAM_DOCUMENTS: dict[str, Of | None] = {
    "keys": by("team"),
    "sources": by("team"),
    "robots": by("team"),
    "robot_revisions": by("team"),
    "definition_heads": by("_id"),
    "definition_sets": by("team"),
    "definitions": by("team"),
    "members": by("team"),
    "secrets": by("team"),
    "inbound": by("team"),
    "refused": by("team"),
    "attachments": by("team"),
    "posts": by("team"),
    "readings": by_prefix("{team}/"),
    "locks": by_prefix("{team}/"),
    "teams": None,  # its tombstone, until the name is free
    "audit": None,  # who removed it, and what was done before
    "idempotency": None,  # derived ids, for 30 days
    "rates": None,  # gone within minutes
    "buckets": None,  # of all teams
}
