"""The scheduler, put together."""

from uuid import uuid4

from rota_common.mongo import OUTAGES, Mongo
from rota_common.robots import Robots
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app
from scheduler.adapters.mongo_plans import MongoPlans
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.adapters.mongo_withdrawals import MongoWithdrawals
from scheduler.announce import Announce
from scheduler.change_plan import ChangePlans
from scheduler.dispatch import Dispatcher
from scheduler.settings import Settings
from scheduler.start_plans import StartPlans
from scheduler.subscribers import questions_router, reports_router
from scheduler.withdraw import AskDispatcher


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    runtime = runtime or Runtime()
    service = Service("scheduler", settings.nats_url, runtime=runtime, outages=OUTAGES)
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_scheduler")
    queue, plans = MongoQueue(mongo, lease=settings.lease), MongoPlans(mongo.database)
    withdrawals = MongoWithdrawals(mongo.database)
    robots, announce = Robots(service.bus), Announce(service.publish, runtime.clock)
    changing = ChangePlans(plans, robots, announce, runtime.clock)
    dispatcher = Dispatcher(
        queue,
        withdrawals,
        StartPlans(plans, queue, changing, robots, runtime.clock),
        robots,
        announce,
        owner=f"scheduler-{uuid4().hex[:8]}",
        pool=settings.pool,
        lease=settings.lease,
        republish_after=settings.republish_after,
        clock=runtime.clock,
    )
    take_back = AskDispatcher(withdrawals, dispatcher.look, runtime.clock)
    service.include(reports_router(dispatcher, changing))
    service.include(questions_router(queue, take_back, changing, plans))
    for store in (queue, plans, withdrawals):
        service.on_start(store.prepare)
    service.background("dispatch", dispatcher.run)
    service.probe("mongo", mongo.ping)
    service.on_stop(mongo.close)
    return plain_app(service, settings)
