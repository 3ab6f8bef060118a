"""The scheduler, put together."""

from dataclasses import dataclass
from uuid import uuid4

from rota_common.bus.live import LiveEvents
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores.mongo import OUTAGES, Mongo
from scheduler.adapters.mongo_cancel_requests import MongoCancelRequests
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_plans import MongoPlans
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.adapters.mongo_robot_queues import MongoRobotQueues
from scheduler.cancel_queued import CancelQueued
from scheduler.capacity import Capacity
from scheduler.change_plans import ChangePlans
from scheduler.dispatcher import Dispatcher, Pace
from scheduler.event_publisher import EventPublisher
from scheduler.handlers import merging_router, questions_router, reports_router
from scheduler.read_robot_states import ReadRobotStates
from scheduler.reconcile_slots import ReconcileSlots
from scheduler.robot_cache import RobotCache
from scheduler.run_end_effects import RunEndEffects
from scheduler.settings import Settings
from scheduler.start_plans import StartPlans
from scheduler.sync_clocks import SyncClocks
from scheduler.tick import RearmDaemon, Tick

NAME = "scheduler"


@dataclass(frozen=True)
class Stores:
    """The collections of the scheduler's database."""

    queue: MongoQueue
    plans: MongoPlans
    clocks: MongoClocks
    withdrawals: MongoCancelRequests
    robot_queues: MongoRobotQueues

    @classmethod
    def on(cls, mongo: Mongo, *, lease: float) -> "Stores":
        database = mongo.database
        return cls(
            MongoQueue(mongo, lease=lease),
            MongoPlans(database),
            MongoClocks(database),
            MongoCancelRequests(database),
            MongoRobotQueues(database),
        )

    async def prepare(self) -> None:
        for store in (self.queue, self.plans, self.clocks, self.withdrawals, self.robot_queues):
            await store.prepare()


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    runtime = runtime or Runtime()
    service, clock = Service.of(NAME, settings, runtime=runtime, outages=OUTAGES), runtime.clock
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_scheduler")
    stores = Stores.on(mongo, lease=settings.lease)
    publisher, watch = EventPublisher(service.publish, clock), LiveEvents(service.bus, service=NAME)
    capacity = Capacity(watch, pool=settings.pool)

    def lag() -> float:
        return 0 if dispatcher.has_lease.is_set() else settings.tick_lag

    sync_clocks = SyncClocks(stores.clocks, clock, lag=lag)
    robots = RobotCache(Robots(service.bus), sync_clocks, refresh=settings.refresh)
    changing = ChangePlans(stores.plans, robots, publisher, clock)
    dispatcher = Dispatcher(
        stores.queue,
        stores.withdrawals,
        StartPlans(stores.plans, stores.queue, changing, robots, clock),
        robots,
        publisher,
        RunEndEffects(robots, publisher, RearmDaemon(stores.clocks, clock)),
        ReconcileSlots(service.ask, clock, patience=settings.slot_patience, timeout=settings.lease / 3),
        owner=f"{NAME}-{uuid4().hex[:8]}",
        pace=Pace(capacity.slots, settings.lease, settings.republish_after),
        clock=clock,
    )
    capacity.on_more = wake = dispatcher.wake
    tick = Tick(stores.clocks, stores.queue, publisher, clock, wake=wake, lag=lag, every=settings.tick_every)
    cancel_queued = CancelQueued(stores.withdrawals, wake, clock)
    states = ReadRobotStates(robots, stores.clocks, stores.robot_queues, clock)
    service.include(reports_router(dispatcher, changing))
    service.include(questions_router(stores.queue, cancel_queued, changing, stores.plans, states))
    service.include(merging_router(stores.robot_queues))
    service.on_start(stores.prepare)
    loops = {"dispatch": dispatcher.run, "tick": tick.run, "keep clocks": sync_clocks.run}
    for name, loop in {**loops, "robots": robots.run, "capacity": capacity.run}.items():
        service.background(name, loop)
    service.probe("mongo", mongo.ping)
    service.on_stop(mongo.close)
    return plain_app(service, settings)
