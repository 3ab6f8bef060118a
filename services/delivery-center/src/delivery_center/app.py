"""The composition root: which adapter stands behind which port."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, mail_server
from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.adapters.mail_message import Composer
from delivery_center.adapters.mongo_counts import MongoCounts
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.adapters.mongo_subscriptions import MongoSubscriptions
from delivery_center.adapters.mongo_suppressions import MongoSuppressions
from delivery_center.adapters.mongo_targets import MongoTargets
from delivery_center.adapters.nats_executions import NatsExecutions
from delivery_center.adapters.nats_feed_publisher import NatsFeedPublisher
from delivery_center.adapters.nats_notify import NatsNotify
from delivery_center.adapters.nats_process import NatsProcess
from delivery_center.adapters.nats_target_events import NatsTargetEvents
from delivery_center.adapters.recording_channel import RecordingChannel
from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.deliver import Deliver
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.retry import Finish, Retry
from delivery_center.attempts.stop_retries import StopRetries
from delivery_center.attempts.sweep import Sweep
from delivery_center.delivery_log.replay import Replay
from delivery_center.domain.delivery import RetryPolicy
from delivery_center.handlers import build_router, hearing
from delivery_center.ledger_questions import log_router
from delivery_center.manage_subscriptions import ManageSubscriptions
from delivery_center.manage_suppressions import ManageSuppressions
from delivery_center.ports import Channel, Deliveries, DeliveryStore, Subscriptions, Suppressions
from delivery_center.settings import Settings
from delivery_center.suppression_questions import suppressions_router
from delivery_center.target_questions import targets_router
from delivery_center.targets.circuit_breakers import REFRESH_S, CircuitBreakers, refreshing
from delivery_center.targets.manage_targets import ManageTargets
from rota_common.bus.feed import Feed
from rota_common.bus.live import LiveEvents
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Runtime, Service
from rota_common.runtime.serving import App, plain_app
from rota_common.stores import mongo
from rota_common.stores.attachments import Attachments
from rota_common.stores.blobs import Blobs
from rota_common.stores.mongo import Mongo
from rota_common.urls import networks
from rota_contracts.messages.delivery import DeliveryType

SERVICE = "delivery-center"
OWN_VARIABLES = "ROTA_"
LEASE_MARGIN_S = 30.0
ANSWER_MARGIN_S = 2.0
"""How much longer than an attempt's time a channel may take to read what was answered in time."""

Store = TypeVar("Store", MongoDeliveries, MongoSubscriptions, MongoSuppressions, MongoTargets)


def build(
    settings: Settings,
    *,
    runtime: Runtime | None = None,
    deliveries: DeliveryStore | None = None,
    channels: Mapping[DeliveryType, Channel[Any]] | None = None,
    environ: Mapping[str, str] | None = None,
) -> App:
    """`deliveries` and `channels` replace the real ones; `environ` is what `$ENV.NAME` refers to."""
    service = Service.of(SERVICE, settings, runtime=runtime, outages=mongo.OUTAGES)
    connection = _mongo(service, settings)
    store = deliveries or _prepared(
        service, MongoDeliveries(connection.database, keep=timedelta(days=settings.keep_days))
    )
    subscriptions = _prepared(service, MongoSubscriptions(connection.database))
    suppressions = _suppressions(service, connection)
    environ = os.environ if environ is None else environ
    paused = PausedExecutions()
    channels = channels or _channels(service, settings, subscriptions, suppressions, environ)
    breakers = _unwell(service, settings, connection)
    publisher = _bulletin(service, connection)
    parts = _Parts(
        service, settings, store, channels, paused, breakers, ConcurrencyLimits(settings.target_concurrency), publisher
    )
    manage = ManageSubscriptions(subscriptions, service.runtime.clock)
    service.include(build_router(parts.deliver(), parts.stop_retries(), manage, service.publish))
    service.include(log_router(store, Replay(store, Robots(service.bus), service.runtime.clock)))
    service.background("paused", hearing(LiveEvents(service.bus, service=SERVICE), paused))
    service.background("retries", parts.sweep())
    return plain_app(service, settings)


@dataclass(frozen=True)
class _Parts:
    """The use cases over one set of adapters."""

    service: Service
    settings: Settings
    deliveries: Deliveries
    channels: Mapping[DeliveryType, Channel[Any]]
    paused: PausedExecutions
    breakers: CircuitBreakers
    limits: ConcurrencyLimits
    publisher: NatsFeedPublisher

    def attempt(self) -> AttemptTargets:
        runtime = self.service.runtime
        return AttemptTargets(
            channels=self.channels,
            recording=RecordingChannel(),
            texts=Blobs(self.service.bus),
            files=Attachments(self.service.bus),
            paused=self.paused,
            breakers=self.breakers,
            limits=self.limits,
            clock=runtime.clock,
            retry_policy=RetryPolicy(self.settings.retry_schedule, runtime.random),
            timeout=self.settings.attempt_timeout + ANSWER_MARGIN_S,
            patience={DeliveryType.EMAIL: _mail_patience(self.settings)},
        )

    def deliver(self) -> Deliver:
        robots, clock = Robots(self.service.bus), self.service.runtime.clock
        return Deliver(self.deliveries, robots, self.leave(), self.attempt(), self.publisher, clock)

    def sweep(self) -> Sweep:
        robots, clock = Robots(self.service.bus), self.service.runtime.clock
        retry = Retry(self.deliveries, robots, self.leave(), self.attempt(), self.finish(), clock, self.lease())
        return Sweep(retry, self.settings.sweep_interval)

    def stop_retries(self) -> StopRetries:
        return StopRetries(self.deliveries, self.finish(), self.service.runtime.clock, self.lease())

    def leave(self) -> CheckPermission:
        return CheckPermission(NatsExecutions(self.service.ask), self.paused)

    def finish(self) -> Finish:
        return Finish(self.deliveries, self.publisher)

    def lease(self) -> timedelta:
        longest = max(self.settings.attempt_timeout, _mail_patience(self.settings))
        return timedelta(seconds=longest + LEASE_MARGIN_S)


def _mail_patience(settings: Settings) -> float:
    """Seconds: the mail's own, and those in which it is made."""
    return settings.mail_timeout + settings.attempt_timeout


def _mongo(service: Service, settings: Settings) -> Mongo:
    connection = Mongo(settings.mongo_url, f"{settings.mongo_prefix}_delivery")
    service.on_stop(connection.close)
    service.probe("mongo", connection.ping)
    return connection


def _bulletin(service: Service, connection: Mongo) -> NatsFeedPublisher:
    feed = Feed(service.bus, service.publish, MongoCounts(connection.database), clock=service.runtime.clock)
    service.background("feed", feed.keep_counts)
    return NatsFeedPublisher(service.publish, feed)


def _unwell(service: Service, settings: Settings, connection: Mongo) -> CircuitBreakers:
    """What is known of the targets, kept up to date and open to questions."""
    store = _prepared(service, MongoTargets(connection.database))
    breakers = CircuitBreakers(
        store,
        NatsTargetEvents(service.publish),
        clock=service.runtime.clock,
        random=service.runtime.random,
        patience=timedelta(seconds=settings.disable_after),
        probe_for=timedelta(seconds=settings.attempt_timeout + ANSWER_MARGIN_S),
    )
    service.on_start(breakers.refresh)
    service.background("targets", refreshing(breakers, REFRESH_S))
    service.include(targets_router(ManageTargets(store, breakers)))
    return breakers


def _suppressions(service: Service, connection: Mongo) -> MongoSuppressions:
    """Who gets no mail: asked of each mail, and open to questions."""
    store = _prepared(service, MongoSuppressions(connection.database))
    service.include(suppressions_router(ManageSuppressions(store, service.runtime.clock)))
    return store


def _prepared(service: Service, store: Store) -> Store:
    """The store, prepared when the service starts."""
    service.on_start(store.prepare)
    return store


def _channels(
    service: Service,
    settings: Settings,
    subscriptions: Subscriptions,
    suppressions: Suppressions,
    environ: Mapping[str, str],
) -> Mapping[DeliveryType, Channel[Any]]:
    client = webhook_client()
    service.on_stop(client.aclose)
    # A robot's owner names variables freely; our own (addresses, passwords) must not leave in a header.
    theirs = {name: value for name, value in environ.items() if not name.startswith(OWN_VARIABLES)}
    return {
        DeliveryType.EMAIL: _email(service, settings, suppressions, environ),
        DeliveryType.WEBHOOK: HttpxWebhook(
            client,
            timeout=settings.attempt_timeout,
            environ=theirs,
            allowed=networks(settings.allow_private_targets),
        ),
        DeliveryType.PROCESS: NatsProcess(service.bus, timeout=settings.attempt_timeout),
        DeliveryType.NOTIFY: NatsNotify(service.publish, subscriptions),
    }


def _email(
    service: Service, settings: Settings, suppressions: Suppressions, environ: Mapping[str, str]
) -> AiosmtplibEmail:
    compose = Composer(
        Attachments(service.bus),
        default_from=settings.default_from,
        templates=settings.mail_templates,
        limit=settings.mail_files_limit,
    )
    return AiosmtplibEmail(
        mail_server(settings.smtp_url, environ),
        compose,
        suppressions,
        timeout=settings.attempt_timeout,
        patience=settings.mail_timeout,
    )
