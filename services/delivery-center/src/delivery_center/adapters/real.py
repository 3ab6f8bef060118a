"""The adapters of production."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

from httpx import AsyncClient

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, mail_server
from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.adapters.mail_message import Composer
from delivery_center.adapters.mongo_counts import MongoCounts
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.adapters.mongo_subscriptions import MongoSubscriptions
from delivery_center.adapters.mongo_suppressions import MongoSuppressions
from delivery_center.adapters.mongo_targets import MongoTargets
from delivery_center.ports import Adapters, Channel, Files, Suppressions
from delivery_center.settings import Settings
from rota_common.bus.robots import Robots
from rota_common.runtime.service import Service
from rota_common.stores.attachments import Attachments
from rota_common.stores.blobs import Blobs
from rota_common.stores.mongo import Mongo
from rota_common.urls import networks
from rota_contracts.messages.delivery import DeliveryType

OWN_VARIABLES = "ROTA_"

Store = TypeVar("Store", MongoDeliveries, MongoSubscriptions, MongoSuppressions, MongoTargets)


def real(settings: Settings, service: Service, environ: Mapping[str, str]) -> Adapters:
    connection = Mongo.of(settings, "delivery")
    service.on_stop(connection.close)
    service.probe("mongo", connection.ping)
    suppressions = _prepared(service, MongoSuppressions(connection.database))
    files = Attachments(service.bus)
    client = webhook_client()
    service.on_stop(client.aclose)
    return Adapters(
        deliveries=_prepared(service, MongoDeliveries(connection.database, keep=timedelta(days=settings.keep_days))),
        failing_targets=_prepared(service, MongoTargets(connection.database)),
        subscriptions=_prepared(service, MongoSubscriptions(connection.database)),
        suppressions=suppressions,
        feed_counts=MongoCounts(connection.database),
        robots=Robots(service.bus),
        texts=Blobs(service.bus),
        files=files,
        channels={
            DeliveryType.EMAIL: email_channel(settings, files, suppressions, environ),
            DeliveryType.WEBHOOK: webhook_channel(settings, client, environ),
        },
    )


def _prepared(service: Service, store: Store) -> Store:
    service.on_start(store.prepare)
    return store


def webhook_channel(settings: Settings, client: AsyncClient, environ: Mapping[str, str]) -> Channel[Any]:
    """`environ` resolves references like `$ENV.NAME`."""
    # A robot's owner chooses the variables; our own (addresses, passwords) must not leave in a header.
    theirs = {name: value for name, value in environ.items() if not name.startswith(OWN_VARIABLES)}
    allowed = networks(settings.allow_private_targets)
    return HttpxWebhook(client, timeout=settings.attempt_timeout, environ=theirs, allowed=allowed)


def email_channel(
    settings: Settings, files: Files, suppressions: Suppressions, environ: Mapping[str, str]
) -> Channel[Any]:
    compose = Composer(
        files,
        default_from=settings.default_from,
        templates=settings.mail_templates,
        limit=settings.mail_files_limit,
    )
    return AiosmtplibEmail(
        mail_server(settings.smtp_url, environ),
        compose,
        suppressions=suppressions,
        timeout=settings.attempt_timeout,
        files_timeout=settings.mail_timeout,
    )
