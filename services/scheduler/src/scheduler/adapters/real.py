"""The scheduler's adapters over NATS and MongoDB."""

from rota_common.bus.robots import Robots
from rota_common.runtime.service import Service
from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import MongoTeamDocuments
from scheduler.adapters.mongo_cancel_requests import MongoCancelRequests
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_ended_triggers import MongoEndedTriggers
from scheduler.adapters.mongo_plans import MongoPlans
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.adapters.mongo_robot_queues import MongoRobotQueues
from scheduler.adapters.stored_forms import DATABASE
from scheduler.adapters.team_documents import TEAM_DOCUMENTS
from scheduler.ports import Adapters
from scheduler.settings import Settings


def real(settings: Settings, service: Service) -> Adapters:
    """Also registers the stores' preparation, probe and closing on `service`."""
    mongo = Mongo.of(settings, DATABASE)
    queue = MongoQueue(mongo, lease=settings.lease)
    plans = MongoPlans(mongo.database)
    clocks = MongoClocks(mongo.database)
    cancel_requests = MongoCancelRequests(mongo.database)
    robot_queues = MongoRobotQueues(mongo.database)
    ended = MongoEndedTriggers(mongo.database)

    async def prepare() -> None:
        for store in (queue, plans, clocks, cancel_requests, robot_queues, ended):
            await store.prepare()

    service.on_start(prepare)
    service.probe("mongo", mongo.ping)
    service.on_close(mongo.close)
    return Adapters(
        definitions=Robots(service.bus),
        queue=queue,
        plans=plans,
        clocks=clocks,
        cancel_requests=cancel_requests,
        robot_queues=robot_queues,
        ended=ended,
        team_documents=MongoTeamDocuments(mongo.database, TEAM_DOCUMENTS),
    )
