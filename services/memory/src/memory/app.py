"""Puts the memory together."""

from memory.adapters.mongo_knowledge_bases import MongoKnowledgeBases
from memory.adapters.qdrant_knowledge import QdrantKnowledge
from memory.adapters.wordllama_embedder import WordllamaEmbedder
from memory.follow_robots import FollowRobots
from memory.forget import ForgetEntries
from memory.ports import Embedder
from memory.recall import RecallEntries
from memory.remember import RememberEntries
from memory.settings import Settings
from memory.subscribers import build_router
from rota_common import mongo
from rota_common.robots import Robots
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app


def build(settings: Settings, *, runtime: Runtime | None = None, embedder: Embedder | None = None) -> App:
    service = Service("memory", settings.nats_url, runtime=runtime, outages=mongo.OUTAGES)
    database = mongo.Mongo(settings.mongo_url, f"{settings.mongo_prefix}_memory")
    bases = MongoKnowledgeBases(database.database)
    if embedder is None:
        embedder = wordllama = WordllamaEmbedder()
        service.on_start(wordllama.load)
    knowledge = QdrantKnowledge(url=settings.qdrant_url, path=settings.qdrant_path, dimensions=embedder.dimensions)
    service.on_start(knowledge.open)
    service.probe("mongo", database.ping)
    service.probe("qdrant", knowledge.ping)
    service.on_stop(knowledge.close)
    service.on_stop(database.close)
    remember = RememberEntries(knowledge, bases, Robots(service.bus), embedder)
    recall, forget = RecallEntries(knowledge, embedder), ForgetEntries(knowledge)
    service.include(build_router(remember, recall, forget, FollowRobots(knowledge, bases)))
    return plain_app(service, settings)
