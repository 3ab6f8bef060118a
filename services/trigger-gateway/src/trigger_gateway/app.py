"""The composition root: which adapter stands behind which port."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

from rota_common import mongo
from rota_common.clock import Clock
from rota_common.mongo import Mongo
from rota_common.service import Runtime, Service
from rota_common.serving import App, health_routes, lifespan
from rota_common.watching import Watch
from trigger_gateway.adapters.bus_questions import BusExecutions, BusSchedule
from trigger_gateway.adapters.mongo_inbound import MongoInboundLog, MongoRequests
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_teams import MongoKeys, MongoSources, MongoTeams
from trigger_gateway.adapters.nats_definitions import NatsDefinitions
from trigger_gateway.adapters.nats_triggers import NatsOutcomes, NatsTriggers
from trigger_gateway.adapters.standard_webhooks import StandardWebhooks
from trigger_gateway.authenticate import Authenticate
from trigger_gateway.control_executions import ControlExecutions
from trigger_gateway.control_robots import ControlRobots
from trigger_gateway.http.api import build_api
from trigger_gateway.http.parts import Parts
from trigger_gateway.intervene_robot import InterveneRobot
from trigger_gateway.judge_robot import JudgeRobot
from trigger_gateway.manage_teams import ManageSources, ManageTeams
from trigger_gateway.ports import Definitions, Signatures
from trigger_gateway.receive_webhook import ReceiveWebhook
from trigger_gateway.request_run import RequestRun
from trigger_gateway.routes import Routes
from trigger_gateway.save_robot import SaveRobot
from trigger_gateway.settings import Settings, own_variables
from trigger_gateway.subscribers import build_router
from trigger_gateway.sweeping import forgetting, sweeping
from trigger_gateway.sync_robots import SyncRobots
from trigger_gateway.view_robots import ViewRobots

NAME = "trigger-gateway"


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    environ: Mapping[str, str] | None = None,
    definitions: Definitions | None = None,
) -> App:
    """`environ` is where the sources' secrets are looked up: the process's environment, unless given."""
    service = Service(NAME, settings.nats_url, runtime=runtime, outages=mongo.OUTAGES)
    stores = Stores.on(Mongo(settings.mongo_url, f"{settings.mongo_prefix}_gateway"), service.runtime.clock)
    watch = Watch(service.bus, service=NAME)
    routes = Routes(stores.sources, stores.robots, service.runtime.clock)
    sync = SyncRobots(stores.robots, definitions or NatsDefinitions(service.bus, service.publish))
    signatures = StandardWebhooks(os.environ if environ is None else environ, service=NAME)
    service.include(build_router(JudgeRobot(stores.robots, sync, service.runtime.clock)))
    parts = _parts(settings, service, stores, routes, sync, signatures, watch)
    for collection in (stores.robots, stores.sources, stores.keys, stores.inbound, stores.requests):
        service.on_start(collection.prepare)
    service.on_stop(stores.mongo.close)
    service.probe("mongo", stores.mongo.ping)
    service.background("sync robots", sweeping(sync, interval=settings.sweep_interval))
    service.background("forget routes", forgetting(watch, routes))
    run = lifespan(service, stop_timeout=settings.stop_timeout)
    return App(service, build_api(parts, service=NAME, health=health_routes(service), lifespan=run))


@dataclass(frozen=True)
class Stores:
    """The collections of the gateway's database."""

    mongo: Mongo
    teams: MongoTeams
    keys: MongoKeys
    sources: MongoSources
    robots: MongoRobots
    inbound: MongoInboundLog
    requests: MongoRequests

    @classmethod
    def on(cls, server: Mongo, clock: Clock) -> "Stores":
        database = server.database
        return cls(
            server,
            MongoTeams(database),
            MongoKeys(database),
            MongoSources(database),
            MongoRobots(database),
            MongoInboundLog(database, service=NAME),
            MongoRequests(database, clock),
        )


def _parts(
    settings: Settings,
    service: Service,
    stores: Stores,
    routes: Routes,
    sync: SyncRobots,
    signatures: Signatures,
    watch: Watch,
) -> Parts:
    clock, triggers = service.runtime.clock, NatsTriggers(service.bus, service.publish)
    outcomes = NatsOutcomes(service.bus, watch, service.ask)
    executions, schedule = BusExecutions(service.ask), BusSchedule(service.ask)
    admin_key = settings.admin_key.get_secret_value() if settings.admin_key else None
    save_robot = SaveRobot(stores.robots, sync, routes, clock, _new_id)
    request_run = RequestRun(stores.robots, triggers, outcomes, stores.requests, clock, _new_id)
    control = ControlExecutions(executions, schedule, _new_id)
    return Parts(
        authenticate=Authenticate(stores.teams, stores.keys, admin_key=admin_key or None),
        teams=ManageTeams(stores.teams, stores.keys, clock, _new_id, secrets.token_urlsafe),
        sources=ManageSources(stores.sources, routes, clock, forbidden=own_variables()),
        view_robots=ViewRobots(stores.robots, schedule),
        save_robot=save_robot,
        receive_webhook=ReceiveWebhook(routes, signatures, triggers, stores.inbound, clock),
        request_run=request_run,
        intervene_robot=InterveneRobot(stores.robots, executions, schedule, stores.requests, request_run, _new_id),
        control=control,
        control_robots=ControlRobots(stores.robots, stores.teams, save_robot, control),
        inbound=stores.inbound,
        ask=service.ask,
        watch=watch,
        bus=service.bus,
        clock=clock,
        heartbeat=settings.heartbeat,
    )


def _new_id() -> str:
    return str(uuid4())
