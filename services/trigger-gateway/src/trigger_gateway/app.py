"""The composition root of the gateway."""

from collections.abc import Mapping
from functools import partial

from rota_common.bus.room import MEASURE_EVERY_S
from rota_common.runtime.logs import logger
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, lifespan
from rota_common.stores import mongo
from rota_contracts.catalog import BACKLOG_REPORTED, EXECUTOR_REPORTED, ROBOT_CHANGED, ROBOT_DELETED, TEAM_REMOVED
from trigger_gateway.adapters.messaging import messaging
from trigger_gateway.adapters.nats_agent_calls import answer_programs
from trigger_gateway.adapters.real import real
from trigger_gateway.agents.answer_calls import AnswerCalls
from trigger_gateway.databases.assign_databases import EVERY_S
from trigger_gateway.handlers import build_handlers
from trigger_gateway.http.api import build_api
from trigger_gateway.http.health import public_health
from trigger_gateway.http.middleware import BodyLimits
from trigger_gateway.ports import Adapters
from trigger_gateway.settings import Settings
from trigger_gateway.use_cases import UseCases

NAME = "trigger-gateway"
PRUNE_S = 3600.0
RESEAL_S = 3600.0
"""At the start, and then every hour: by then every replica has the new key."""

FOLLOW_KEYS_S = 5.0


async def warn_of_example_key(settings: Settings) -> None:
    if settings.has_example_key:
        wanted = "expected a key of your own, got the example's, which everyone knows: `openssl rand -hex 32` makes one"
        logger(service=NAME).warning("example key", variable="ROTA_ADMIN_KEY", reason=wanted)


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    adapters: Adapters | None = None,
    team_secrets: Mapping[str, Mapping[str, str]] | None = None,
) -> App:
    """`team_secrets` are given by the operator: team → name → value. Nothing is read from the
    environment."""
    service = Service.of(NAME, settings, runtime=runtime, outages=mongo.OUTAGES)
    adapters = adapters or real(settings, service, team_secrets=team_secrets)
    use = UseCases.over(adapters, messaging(service), settings, service, outages=mongo.OUTAGES)
    service.include(build_handlers(use))
    service.on_start(partial(warn_of_example_key, settings))
    programs = AnswerCalls(ask=use.offered.ask, teams=adapters.teams, outages=mongo.OUTAGES)
    answer_programs(service, programs)
    service.every(MEASURE_EVERY_S, use.admit_work.room.measure, name="measure the bus")
    for copied, name in ((use.buckets.robots, "sync robots"), (use.buckets.definitions, "copy definitions")):
        service.on_start(copied)  # who waits for the gateway after a restore finds everything
        service.every(settings.sweep_interval, copied.sweep, name=name)
    service.every(PRUNE_S, use.definitions.forget, name="forget definitions")
    service.every(settings.sweep_interval, use.audit.publish, name="publish audit")
    service.every(settings.sweep_interval, use.publish_removals, name="remove teams")
    service.every(PRUNE_S, use.audit.prune, name="prune audit")
    # Another replica may have changed the robot.
    service.follow(
        [ROBOT_CHANGED, ROBOT_DELETED, TEAM_REMOVED],
        lambda event: use.routes.forget(event.data.team_id),
        name="forget routes",
    )
    service.follow([BACKLOG_REPORTED], use.backlogs.update, name="backlogs")
    service.follow([EXECUTOR_REPORTED], use.definitions.executors.update, name="executors")
    service.every(RESEAL_S, use.reseal_secrets, name="reseal secrets")
    service.every(FOLLOW_KEYS_S, use.reseal_secrets.follow_keys, name="follow keys")
    service.every(EVERY_S, use.assign_databases, name="read databases", release=use.assign_databases.release)
    internal = (settings.http_host, settings.internal_port) if settings.internal_port else None
    run = lifespan(service, stop_timeout=settings.stop_timeout, internal=internal)
    limits = BodyLimits(
        webhook=settings.webhook_limit, attachment=settings.attachment_limit, seconds=settings.body_timeout
    )
    return App(service, build_api(use, service=NAME, health=public_health(service), lifespan=run, limits=limits))
