"""How each collection of the learner's database names a team."""

from rota_common.stores.team_documents import by

TEAM_DOCUMENTS = {"history": by("team"), "decisions": by("team"), "lessons": by("team")}
