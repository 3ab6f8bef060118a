"""Puts the memory together."""

from memory.adapters.mongo_knowledge_bases import MongoKnowledgeBases
from memory.adapters.qdrant import Qdrant
from memory.adapters.qdrant_knowledge import QdrantKnowledge
from memory.adapters.qdrant_shared import QdrantShared
from memory.adapters.wordllama_embedder import WordllamaEmbedder
from memory.follow_robots import FollowRobots
from memory.forget import ForgetEntries
from memory.handlers import UseCases, build_handlers
from memory.ports import Embedder
from memory.recall import RecallEntries
from memory.remember import RememberEntries
from memory.search_shared import SearchSharedEntries
from memory.settings import Settings
from memory.share import ShareEntries
from memory.unshare import UnshareEntries
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores import mongo


def build(settings: Settings, *, runtime: Runtime | None = None, embedder: Embedder | None = None) -> App:
    service = Service.of("memory", settings, runtime=runtime, outages=mongo.OUTAGES)
    database = mongo.Mongo(settings.mongo_url, f"{settings.mongo_prefix}_memory")
    bases = MongoKnowledgeBases(database.database)
    if embedder is None:
        embedder = wordllama = WordllamaEmbedder()
        service.on_start(wordllama.load)
    qdrant = Qdrant(url=settings.qdrant_url, path=settings.qdrant_path, dimensions=embedder.dimensions)
    knowledge, shared = QdrantKnowledge(qdrant), QdrantShared(qdrant)
    for hook in (qdrant.open, knowledge.prepare, shared.prepare):
        service.on_start(hook)
    service.probe("mongo", database.ping)
    service.probe("qdrant", qdrant.ping)
    service.on_stop(qdrant.close)
    service.on_stop(database.close)
    robots = Robots(service.bus)
    uses = UseCases(
        remember=RememberEntries(knowledge, bases, robots, embedder),
        recall=RecallEntries(knowledge, shared, robots, embedder, service.runtime.clock),
        forget=ForgetEntries(knowledge),
        follow=FollowRobots(knowledge, bases),
        share=ShareEntries(shared, embedder),
        unshare=UnshareEntries(shared),
        search_shared=SearchSharedEntries(shared, embedder),
    )
    service.include(build_handlers(uses))
    return plain_app(service, settings)
