"""Puts the learner together."""

from learner.adapters.bus_agents import BusAgents
from learner.adapters.mongo_history import MongoHistory
from learner.adapters.mongo_lessons import MongoLessons
from learner.adapters.nats_knowledge import NatsKnowledge
from learner.decide_on_goals import DecideOnGoals
from learner.forget_old import ForgetOld, repeating
from learner.forget_robot import ForgetRobot
from learner.handlers import build_router
from learner.learn_from_run import LearnFromRun
from learner.record_run import RecordRun
from learner.settings import Settings
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores import mongo


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    service = Service.of("learner", settings, runtime=runtime, outages=mongo.OUTAGES)
    database = mongo.Mongo(settings.mongo_url, f"{settings.mongo_prefix}_learner")
    lessons, history = MongoLessons(database.database), MongoHistory(database.database)
    service.on_start(lessons.prepare)
    service.on_start(history.prepare)
    service.probe("mongo", database.ping)
    service.on_stop(database.close)
    agents, knowledge, robots = BusAgents(service.ask), NatsKnowledge(service.ask), Robots(service.bus)
    router = build_router(
        record=RecordRun(history, robots),
        learn=LearnFromRun(agents, lessons, knowledge, robots, timeout=settings.agent_timeout),
        decide=DecideOnGoals(agents, history, robots, timeout=settings.dedup_timeout),
        forget=ForgetRobot(lessons, history),
        publish=service.publish,
    )
    service.include(router)
    forget_old = ForgetOld(lessons, history, knowledge, robots, service.runtime.clock)
    service.background("retention", repeating(forget_old, interval=settings.retention_interval))
    return plain_app(service, settings)
