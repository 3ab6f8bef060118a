"""The documents of a team in each collection of the memory's database."""

from rota_common.stores.team_documents import by, by_prefix

TEAM_DOCUMENTS = {
    "knowledge_bases": by_prefix("{team}."),
    "workspace_files": by_prefix("{team}."),
    "workspace_seeded": by_prefix("{team}."),
    "workspace_teams": by("_id"),
}
