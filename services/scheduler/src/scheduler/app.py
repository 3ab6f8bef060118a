"""The scheduler, put together."""

from dataclasses import dataclass
from uuid import uuid4

from rota_common.bus.live import LiveEvents
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores.mongo import OUTAGES, Mongo
from scheduler.adapters.mongo_clocks import MongoClocks
from scheduler.adapters.mongo_plans import MongoPlans
from scheduler.adapters.mongo_queue import MongoQueue
from scheduler.adapters.mongo_robot_queues import MongoStandings
from scheduler.adapters.mongo_withdrawals import MongoWithdrawals
from scheduler.cancel_queued import AskDispatcher
from scheduler.capacity import Capacity
from scheduler.change_plans import ChangePlans
from scheduler.dispatcher import Dispatcher, Pace
from scheduler.event_publisher import Announce
from scheduler.handlers import merging_router, questions_router, reports_router
from scheduler.read_robot_states import ReadStates
from scheduler.reconcile_slots import AskAfterSlots
from scheduler.robot_cache import Directory
from scheduler.run_end_effects import Aftermath
from scheduler.settings import Settings
from scheduler.start_plans import StartPlans
from scheduler.sync_clocks import KeepClocks
from scheduler.tick import RearmDaemon, Tick

NAME = "scheduler"


@dataclass(frozen=True)
class Stores:
    """The collections of the scheduler's database."""

    queue: MongoQueue
    plans: MongoPlans
    clocks: MongoClocks
    withdrawals: MongoWithdrawals
    standings: MongoStandings

    @classmethod
    def on(cls, mongo: Mongo, *, lease: float) -> "Stores":
        database = mongo.database
        return cls(
            MongoQueue(mongo, lease=lease),
            MongoPlans(database),
            MongoClocks(database),
            MongoWithdrawals(database),
            MongoStandings(database),
        )

    async def prepare(self) -> None:
        for store in (self.queue, self.plans, self.clocks, self.withdrawals, self.standings):
            await store.prepare()


def build(settings: Settings, *, runtime: Runtime | None = None) -> App:
    runtime = runtime or Runtime()
    service, clock = Service.of(NAME, settings, runtime=runtime, outages=OUTAGES), runtime.clock
    mongo = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_scheduler")
    stores = Stores.on(mongo, lease=settings.lease)
    announce, watch = Announce(service.publish, clock), LiveEvents(service.bus, service=NAME)
    capacity = Capacity(watch, pool=settings.pool)

    def lag() -> float:
        return 0 if dispatcher.held.is_set() else settings.tick_lag

    keeping = KeepClocks(stores.clocks, clock, lag=lag)
    robots = Directory(Robots(service.bus), keeping, refresh=settings.refresh)
    changing = ChangePlans(stores.plans, robots, announce, clock)
    dispatcher = Dispatcher(
        stores.queue,
        stores.withdrawals,
        StartPlans(stores.plans, stores.queue, changing, robots, clock),
        robots,
        announce,
        Aftermath(robots, announce, RearmDaemon(stores.clocks, clock)),
        AskAfterSlots(service.ask, clock, patience=settings.slot_patience, timeout=settings.lease / 3),
        owner=f"{NAME}-{uuid4().hex[:8]}",
        pace=Pace(capacity.slots, settings.lease, settings.republish_after),
        clock=clock,
    )
    capacity.on_more = wake = dispatcher.look
    tick = Tick(stores.clocks, stores.queue, announce, clock, wake=wake, lag=lag, every=settings.tick_every)
    take_back = AskDispatcher(stores.withdrawals, wake, clock)
    states = ReadStates(robots, stores.clocks, stores.standings, clock)
    service.include(reports_router(dispatcher, changing))
    service.include(questions_router(stores.queue, take_back, changing, stores.plans, states))
    service.include(merging_router(stores.standings))
    service.on_start(stores.prepare)
    loops = {"dispatch": dispatcher.run, "tick": tick.run, "keep clocks": keeping.run}
    for name, loop in {**loops, "robots": robots.run, "capacity": capacity.run}.items():
        service.background(name, loop)
    service.probe("mongo", mongo.ping)
    service.on_stop(mongo.close)
    return plain_app(service, settings)
