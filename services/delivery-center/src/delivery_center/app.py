"""The composition root: which adapter stands behind which port."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, mail_server
from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.adapters.mongo_subscriptions import MongoSubscriptions
from delivery_center.adapters.nats_bulletin import NatsBulletin
from delivery_center.adapters.nats_executions import NatsExecutions
from delivery_center.adapters.nats_notify import NatsNotify
from delivery_center.adapters.nats_process import NatsProcess
from delivery_center.adapters.recording import RecordingChannel
from delivery_center.ask_leave import AskLeave
from delivery_center.attempt_targets import AttemptTargets
from delivery_center.controls import Controls
from delivery_center.deliver import Deliver
from delivery_center.domain import Schedule
from delivery_center.ports import Channel, Deliveries, Subscriptions
from delivery_center.retry import Finish, Retry
from delivery_center.settings import Settings
from delivery_center.stop_retries import StopRetries
from delivery_center.subscribers import build_router, hearing
from delivery_center.subscriptions import ManageSubscriptions
from delivery_center.sweep import Sweep
from rota_common import mongo
from rota_common.blobs import Blobs
from rota_common.mongo import Mongo
from rota_common.robots import Robots
from rota_common.service import Runtime, Service
from rota_common.serving import App, plain_app
from rota_common.urls import networks
from rota_common.watching import Watch
from rota_contracts.delivery import DeliveryType

SERVICE = "delivery-center"
OWN_VARIABLES = "ROTA_"
LEASE_MARGIN_S = 30.0

Store = TypeVar("Store", MongoDeliveries, MongoSubscriptions)


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    deliveries: Deliveries | None = None,
    channels: Mapping[DeliveryType, Channel[Any]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> App:
    """`deliveries` and `channels` replace the real ones; `environ` is what `$ENV.NAME` refers to."""
    service = Service(SERVICE, settings.nats_url, runtime=runtime, outages=mongo.OUTAGES)
    connection = _mongo(service, settings)
    store = deliveries or _prepared(service, MongoDeliveries(connection.database))
    subscriptions = _prepared(service, MongoSubscriptions(connection.database))
    environ = os.environ if environ is None else environ
    controls = Controls()
    channels = channels or _channels(service, settings, subscriptions, environ)
    parts = _Parts(service, settings, store, channels, controls)
    manage = ManageSubscriptions(subscriptions, service.runtime.clock)
    service.include(build_router(parts.deliver(), parts.stop_retries(), store, manage, service.publish))
    service.background("controls", hearing(Watch(service.bus, service=SERVICE), controls))
    service.background("retries", parts.sweep())
    return plain_app(service, settings)


@dataclass(frozen=True)
class _Parts:
    """The use cases over one set of adapters."""

    service: Service
    settings: Settings
    deliveries: Deliveries
    channels: Mapping[DeliveryType, Channel[Any]]
    controls: Controls

    def attempt(self) -> AttemptTargets:
        runtime = self.service.runtime
        return AttemptTargets(
            channels=self.channels,
            recording=RecordingChannel(),
            texts=Blobs(self.service.bus),
            controls=self.controls,
            clock=runtime.clock,
            schedule=Schedule(self.settings.retry_schedule, runtime.random),
            timeout=self.settings.attempt_timeout,
        )

    def deliver(self) -> Deliver:
        bulletin, robots = NatsBulletin(self.service.publish), Robots(self.service.bus)
        return Deliver(self.deliveries, robots, self.leave(), self.attempt(), bulletin, self.service.runtime.clock)

    def sweep(self) -> Sweep:
        robots, clock = Robots(self.service.bus), self.service.runtime.clock
        retry = Retry(self.deliveries, robots, self.leave(), self.attempt(), self.finish(), clock, self.lease())
        return Sweep(retry, self.settings.sweep_interval)

    def stop_retries(self) -> StopRetries:
        return StopRetries(self.deliveries, self.finish(), self.service.runtime.clock, self.lease())

    def leave(self) -> AskLeave:
        return AskLeave(NatsExecutions(self.service.ask), self.controls)

    def finish(self) -> Finish:
        return Finish(self.deliveries, NatsBulletin(self.service.publish))

    def lease(self) -> timedelta:
        return timedelta(seconds=self.settings.attempt_timeout + LEASE_MARGIN_S)


def _mongo(service: Service, settings: Settings) -> Mongo:
    connection = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_delivery")
    service.on_stop(connection.close)
    service.probe("mongo", connection.ping)
    return connection


def _prepared(service: Service, store: Store) -> Store:
    """The store, prepared when the service starts."""
    service.on_start(store.prepare)
    return store


def _channels(
    service: Service, settings: Settings, subscriptions: Subscriptions, environ: Mapping[str, str]
) -> Mapping[DeliveryType, Channel[Any]]:
    client = webhook_client(settings.attempt_timeout)
    service.on_stop(client.aclose)
    # A robot's owner names variables freely; our own (addresses, passwords) must not leave in a header.
    theirs = {name: value for name, value in environ.items() if not name.startswith(OWN_VARIABLES)}
    return {
        DeliveryType.EMAIL: AiosmtplibEmail(
            mail_server(settings.smtp_url, environ),
            timeout=settings.attempt_timeout,
            default_from=settings.default_from,
            templates=settings.mail_templates,
        ),
        DeliveryType.WEBHOOK: HttpxWebhook(client, environ=theirs, allowed=networks(settings.allow_private_targets)),
        DeliveryType.PROCESS: NatsProcess(service.bus, timeout=settings.attempt_timeout),
        DeliveryType.NOTIFY: NatsNotify(service.publish, subscriptions),
    }
