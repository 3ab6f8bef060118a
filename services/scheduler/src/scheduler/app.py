"""The scheduler, put together."""

from uuid import uuid4

from rota_common.mongo import OUTAGES, Mongo
from rota_common.robots import Robots
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.announce import Announce
from scheduler.dispatch import Dispatcher
from scheduler.settings import Settings
from scheduler.subscribers import build_router


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    runtime = runtime or Runtime()
    service = Service("scheduler", settings.nats_url, runtime=runtime, outages=OUTAGES)
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_scheduler")
    queue = MongoQueue(mongo, lease=settings.lease)
    dispatcher = Dispatcher(
        queue,
        Robots(service.bus),
        Announce(service.publish, runtime.clock),
        owner=f"scheduler-{uuid4().hex[:8]}",
        pool=settings.pool,
        lease=settings.lease,
        republish_after=settings.republish_after,
        clock=runtime.clock,
    )
    service.include(build_router(dispatcher, queue))
    service.on_start(queue.prepare)
    service.background("dispatch", dispatcher.run)
    service.probe("mongo", mongo.ping)
    service.on_stop(mongo.close)
    return plain_app(service, settings)
