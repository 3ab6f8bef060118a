"""The composition root: which adapter stands behind which port."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol
from uuid import uuid4

from rota_common.bus.live import LiveEvents
from rota_common.clock import Clock
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, health_routes, lifespan
from rota_common.stores import mongo
from rota_common.stores.attachments import Attachments
from rota_common.stores.mongo import Mongo
from rota_common.urls import networks
from trigger_gateway.adapters.encryption import FernetSeals
from trigger_gateway.adapters.mongo_changes import MongoChanges
from trigger_gateway.adapters.mongo_inbound_log import MongoInboundLog
from trigger_gateway.adapters.mongo_rates import MongoRates
from trigger_gateway.adapters.mongo_requests import MongoRequests
from trigger_gateway.adapters.mongo_robots import MongoRobots
from trigger_gateway.adapters.mongo_sources import MongoSources
from trigger_gateway.adapters.mongo_stream_leases import MongoReadings
from trigger_gateway.adapters.mongo_teams import MongoKeys, MongoTeams
from trigger_gateway.adapters.nats_definitions import NatsDefinitions
from trigger_gateway.adapters.nats_questions import BusAgents, BusExecutions, BusSchedule
from trigger_gateway.adapters.nats_triggers import NatsOutcomes, NatsTriggers
from trigger_gateway.databases.assign_databases import WatchDatabases
from trigger_gateway.databases.read_changes import ReadChanges
from trigger_gateway.handlers import build_router
from trigger_gateway.http.api import build_api
from trigger_gateway.http.dependencies import Parts
from trigger_gateway.ports import Definitions, Seals, Signatures
from trigger_gateway.robots.routes import Routes
from trigger_gateway.robots.save_robot import SaveRobot
from trigger_gateway.robots.sync_robots import SyncRobots
from trigger_gateway.robots.track_robot_health import JudgeRobot
from trigger_gateway.robots.view_robots import ViewRobots
from trigger_gateway.runs.control_executions import ControlExecutions
from trigger_gateway.runs.control_robots import ControlRobots
from trigger_gateway.runs.intervene_robot import InterveneRobot
from trigger_gateway.runs.request_run import RequestRun
from trigger_gateway.settings import Settings, own_variables
from trigger_gateway.sources.manage_sources import ManageSources
from trigger_gateway.sources.verify_sender import Verification
from trigger_gateway.sweeping import forgetting, sweeping
from trigger_gateway.teams.authenticate import Authenticate
from trigger_gateway.teams.manage_teams import ManageTeams
from trigger_gateway.webhooks.answer_message import AnswerMessage
from trigger_gateway.webhooks.ingest_event import Recognise
from trigger_gateway.webhooks.rate_limits import RateLimits, Rates
from trigger_gateway.webhooks.receive_webhook import ReceiveWebhook

NAME = "trigger-gateway"


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    environ: Mapping[str, str] | None = None,
    definitions: Definitions | None = None,
) -> App:
    """`environ` is where the sources' secrets are looked up: the process's environment, unless given."""
    service = Service.of(NAME, settings, runtime=runtime, outages=mongo.OUTAGES)
    server = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_gateway")
    stores = Stores.on(server, service.runtime.clock, reading_lease=settings.reading_lease)
    watch = LiveEvents(service.bus, service=NAME)
    routes = Routes(stores.sources, stores.robots, service.runtime.clock)
    sync = SyncRobots(stores.robots, definitions or NatsDefinitions(service.bus, service.publish))
    seals = FernetSeals(settings.secrets_key.get_secret_value() if settings.secrets_key else "")
    given = os.environ if environ is None else environ
    signatures = Verification(given, seals, service.runtime.clock, service=NAME)
    service.include(build_router(JudgeRobot(stores.robots, sync, service.runtime.clock)))
    parts = _parts(settings, service, stores, routes, sync, signatures, seals, watch)
    for collection in stores.to_prepare:
        service.on_start(collection.prepare)
    service.on_stop(stores.inbound.flush)
    service.on_stop(stores.mongo.close)
    service.probe("mongo", stores.mongo.ping)
    service.background("sync robots", sweeping(sync, interval=settings.sweep_interval))
    service.background("forget routes", forgetting(watch, routes))
    service.background("read databases", _reading(service, stores, routes, given).loop)
    run = lifespan(service, stop_timeout=settings.stop_timeout)
    return App(service, build_api(parts, service=NAME, health=health_routes(service), lifespan=run))


class Collection(Protocol):
    async def prepare(self) -> None: ...


@dataclass(frozen=True)
class Stores:
    """The collections of the gateway's database."""

    mongo: Mongo
    teams: MongoTeams
    keys: MongoKeys
    sources: MongoSources
    robots: MongoRobots
    inbound: MongoInboundLog
    rates: MongoRates
    requests: MongoRequests
    readings: MongoReadings

    @classmethod
    def on(cls, server: Mongo, clock: Clock, *, reading_lease: float) -> "Stores":
        database = server.database
        return cls(
            server,
            MongoTeams(database),
            MongoKeys(database),
            MongoSources(database),
            MongoRobots(database),
            MongoInboundLog(database, service=NAME),
            MongoRates(database),
            MongoRequests(database, clock),
            MongoReadings(database, clock, lease=reading_lease),
        )

    @property
    def to_prepare(self) -> tuple[Collection, ...]:
        """Those that need indexes."""
        return self.robots, self.sources, self.keys, self.inbound, self.rates, self.requests, self.readings


def _parts(
    settings: Settings,
    service: Service,
    stores: Stores,
    routes: Routes,
    sync: SyncRobots,
    signatures: Signatures,
    seals: Seals,
    watch: LiveEvents,
) -> Parts:
    clock = service.runtime.clock
    rates = Rates(stores.rates, clock, RateLimits(settings.rate_per_address, settings.rate_per_source))
    executions, schedule = BusExecutions(service.ask), BusSchedule(service.ask)
    admin_key = settings.admin_key.get_secret_value() if settings.admin_key else None
    save_robot = SaveRobot(stores.robots, sync, routes, clock, _new_id)
    request_run = _asking(service, stores, watch)
    control = ControlExecutions(executions, schedule, _new_id)
    return Parts(
        authenticate=Authenticate(stores.teams, stores.keys, admin_key=admin_key or None),
        teams=ManageTeams(stores.teams, stores.keys, clock, _new_id, secrets.token_urlsafe),
        sources=ManageSources(stores.sources, routes, seals, clock, secrets.token_bytes, forbidden=own_variables()),
        view_robots=ViewRobots(stores.robots, schedule),
        save_robot=save_robot,
        receive_webhook=_receiving(settings, service, stores, routes, rates, signatures),
        request_run=request_run,
        intervene_robot=InterveneRobot(stores.robots, executions, schedule, stores.requests, request_run, _new_id),
        control=control,
        control_robots=ControlRobots(stores.robots, stores.teams, save_robot, control),
        inbound=stores.inbound,
        readings=stores.readings,
        rates=rates,
        trusted_proxies=networks(settings.trusted_proxies),
        attachments=Attachments(service.bus),
        attachment_limit=settings.attachment_limit,
        ask=service.ask,
        watch=watch,
        bus=service.bus,
        clock=clock,
        heartbeat=settings.heartbeat,
    )


def _asking(service: Service, stores: Stores, watch: LiveEvents) -> RequestRun:
    triggers, outcomes = NatsTriggers(service.bus, service.publish), NatsOutcomes(service.bus, watch, service.ask)
    return RequestRun(stores.robots, triggers, outcomes, stores.requests, service.runtime.clock, _new_id)


def _receiving(
    settings: Settings, service: Service, stores: Stores, routes: Routes, rates: Rates, signatures: Signatures
) -> ReceiveWebhook:
    return ReceiveWebhook(
        routes,
        rates,
        signatures,
        Recognise(stores.inbound),
        NatsTriggers(service.bus, service.publish),
        AnswerMessage(stores.robots, BusAgents(service.ask), stores.requests),
        stores.inbound,
        service.runtime.clock,
        _new_id,
        at_most=settings.webhooks_at_once,
    )


def _reading(service: Service, stores: Stores, routes: Routes, environ: Mapping[str, str]) -> WatchDatabases:
    runtime, triggers = service.runtime, NatsTriggers(service.bus, service.publish)
    databases = MongoChanges(environ, runtime.clock, forbidden=own_variables())
    read = ReadChanges(
        databases,
        stores.readings,
        routes,
        triggers,
        stores.inbound,
        runtime.clock,
        runtime.random,
        service=NAME,
        outages=mongo.OUTAGES,
    )
    return WatchDatabases(stores.sources, stores.readings, read, runtime.random, owner=_new_id(), service=NAME)


def _new_id() -> str:
    return str(uuid4())
