"""The adapters of production."""

from learner.adapters.mongo_history import MongoHistory
from learner.adapters.mongo_lessons import MongoLessons
from learner.adapters.nats_knowledge import NatsKnowledge
from learner.adapters.team_documents import TEAM_DOCUMENTS
from learner.ports import Adapters
from learner.settings import Settings
from rota_common.bus.agents import NatsAgents
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import MongoTeamDocuments


def real(settings: Settings, service: Service) -> Adapters:
    mongo = Mongo.of(settings, "learner")
    lessons, history = MongoLessons(mongo.database), MongoHistory(mongo.database)
    service.on_start(lessons.prepare)
    service.on_start(history.prepare)
    service.probe("mongo", mongo.ping)
    service.on_close(mongo.close)
    return Adapters(
        agents=NatsAgents(service.ask),
        lessons=lessons,
        history=history,
        knowledge=NatsKnowledge(service.ask),
        robots=Robots(service.bus),
        team_documents=MongoTeamDocuments(mongo.database, TEAM_DOCUMENTS),
    )
