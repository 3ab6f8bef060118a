"""The documents of a team in each collection of the learner's database."""

from rota_common.stores.team_documents import by

TEAM_DOCUMENTS = {"history": by("team"), "decisions": by("team"), "lessons": by("team")}
