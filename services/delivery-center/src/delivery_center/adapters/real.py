"""The adapters of production."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeVar

from httpx import AsyncClient

from delivery_center.adapters.aiosmtplib_email import AiosmtplibEmail, mail_server
from delivery_center.adapters.httpx_webhook import HttpxWebhook, webhook_client
from delivery_center.adapters.mail_limits import DailyMails, MailCounts, MailLimits
from delivery_center.adapters.mail_message import Composer
from delivery_center.adapters.mongo_counts import MongoCounts
from delivery_center.adapters.mongo_deliveries import MongoDeliveries
from delivery_center.adapters.mongo_mail_counts import MongoMailCounts
from delivery_center.adapters.mongo_sent_notices import MongoSentNotices
from delivery_center.adapters.mongo_subscriptions import MongoSubscriptions
from delivery_center.adapters.mongo_suppressions import MongoSuppressions
from delivery_center.adapters.mongo_targets import MongoTargets
from delivery_center.adapters.stored_forms import DATABASE
from delivery_center.adapters.team_documents import TEAM_DOCUMENTS
from delivery_center.ports import Adapters, Channel, Files, Suppressions
from delivery_center.settings import Settings
from rota_common.runtime.followed_robots import followed_robots
from rota_common.runtime.service import Service
from rota_common.spans.httpx_receiver import receiver_of
from rota_common.stores.attachments import Attachments
from rota_common.stores.blobs import Blobs
from rota_common.stores.mongo import Mongo
from rota_common.stores.team_documents import MongoTeamDocuments
from rota_common.team_secrets import TeamSecrets, asked_of_the_gateway
from rota_common.urls import networks
from rota_contracts.messages.delivery import DeliveryType

Store = TypeVar(
    "Store",
    MongoDeliveries,
    MongoMailCounts,
    MongoSentNotices,
    MongoSubscriptions,
    MongoSuppressions,
    MongoTargets,
)


def real(settings: Settings, service: Service, environ: Mapping[str, str]) -> Adapters:
    """`environ` holds what the operator's settings refer to as `$ENV.NAME`."""
    connection = Mongo.of(settings, DATABASE)
    service.on_close(connection.close)
    service.probe("mongo", connection.ping)
    suppressions = _prepared(service, MongoSuppressions(connection.database))
    counts = _prepared(service, MongoMailCounts(connection.database))
    notice_counts = _prepared(service, MongoMailCounts(connection.database, of="notice_counts"))
    files = Attachments(service.bus)
    client = webhook_client()
    service.on_close(client.aclose)
    return Adapters(
        deliveries=_prepared(service, MongoDeliveries(connection.database, keep=timedelta(days=settings.keep_days))),
        failing_targets=_prepared(service, MongoTargets(connection.database)),
        subscriptions=_prepared(service, MongoSubscriptions(connection.database)),
        suppressions=suppressions,
        feed_counts=MongoCounts(connection.database),
        robots=followed_robots(service),
        texts=Blobs(service.bus),
        files=files,
        channels={
            DeliveryType.EMAIL: email_channel(settings, files, suppressions, counts, environ),
            DeliveryType.WEBHOOK: webhook_channel(settings, client, asked_of_the_gateway(service.ask)),
        },
        notices=notice_channel(settings, files, suppressions, notice_counts, environ),
        sent_notices=_prepared(service, MongoSentNotices(connection.database)),
        team_documents=MongoTeamDocuments(connection.database, TEAM_DOCUMENTS),
        spans=receiver_of(settings),
    )


def _prepared(service: Service, store: Store) -> Store:
    service.on_start(store.prepare)
    return store


def webhook_channel(settings: Settings, client: AsyncClient, secrets: TeamSecrets) -> Channel[Any]:
    allowed = networks(settings.allow_private_targets)
    return HttpxWebhook(client, timeout=settings.attempt_timeout, secrets=secrets, allowed=allowed)


def email_channel(
    settings: Settings, files: Files, suppressions: Suppressions, counts: MailCounts, environ: Mapping[str, str]
) -> Channel[Any]:
    limits = MailLimits(
        senders=settings.mail_senders, recipients=settings.mail_recipients, mails_a_day=settings.mails_a_day
    )
    return _mail(settings, files, suppressions, DailyMails(counts, limits), environ)


def notice_channel(
    settings: Settings, files: Files, suppressions: Suppressions, counts: MailCounts, environ: Mapping[str, str]
) -> Channel[Any]:
    limits = MailLimits(
        senders=settings.mail_senders, recipients=1, mails_a_day=settings.notices_a_day, setting="ROTA_NOTICES_A_DAY"
    )
    return _mail(settings, files, suppressions, DailyMails(counts, limits), environ)


def _mail(
    settings: Settings, files: Files, suppressions: Suppressions, daily: DailyMails, environ: Mapping[str, str]
) -> Channel[Any]:
    compose = Composer(
        files,
        limits=daily.limits,
        default_from=settings.default_from,
        templates=settings.mail_templates,
        limit=settings.mail_files_limit,
    )
    return AiosmtplibEmail(
        mail_server(settings.smtp_url, environ),
        compose,
        suppressions=suppressions,
        daily=daily,
        timeout=settings.attempt_timeout,
        files_timeout=settings.mail_timeout,
    )
