"""The adapters of production."""

from memory.adapters.mongo_knowledge_bases import MongoKnowledgeBases
from memory.adapters.mongo_workspaces import MongoWorkspaces
from memory.adapters.qdrant.connection import Qdrant
from memory.adapters.qdrant.entries import QdrantEntries
from memory.adapters.qdrant.shared_entries import QdrantSharedEntries
from memory.adapters.team_documents import TEAM_DOCUMENTS
from memory.adapters.wordllama_embedder import WordllamaEmbedder
from memory.ports import Adapters
from memory.settings import Settings
from rota_common.runtime.followed_robots import followed_robots
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import MongoTeamDocuments


def real(settings: Settings, service: Service) -> Adapters:
    mongo = Mongo.of(settings, "memory")
    embedder = WordllamaEmbedder()
    qdrant = Qdrant(
        url=settings.qdrant_url,
        path=settings.qdrant_path,
        api_key=settings.qdrant_api_key.get_secret_value(),
        dimensions=embedder.dimensions,
    )
    entries, shared = QdrantEntries(qdrant), QdrantSharedEntries(qdrant)
    workspaces = MongoWorkspaces(mongo)
    for hook in (workspaces.prepare, embedder.load, qdrant.open, entries.prepare, shared.prepare):
        service.on_start(hook)
    service.probe("mongo", mongo.ping)
    service.probe("qdrant", qdrant.ping)
    service.on_close(qdrant.close)
    service.on_close(mongo.close)
    return Adapters(
        entries=entries,
        shared=shared,
        bases=MongoKnowledgeBases(mongo.database),
        workspaces=workspaces,
        robots=followed_robots(service),
        embedder=embedder,
        team_documents=MongoTeamDocuments(mongo.database, TEAM_DOCUMENTS),
    )
