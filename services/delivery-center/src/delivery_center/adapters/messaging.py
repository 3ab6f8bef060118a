"""The messaging of the service: its adapters over the bus."""

from delivery_center.adapters.nats_executions import NatsExecutions
from delivery_center.adapters.nats_feed_publisher import NatsFeedPublisher
from delivery_center.adapters.nats_notify import NatsNotify
from delivery_center.adapters.nats_process import NatsProcess
from delivery_center.adapters.nats_recipients import NatsRecipients
from delivery_center.adapters.nats_target_events import NatsTargetEvents
from delivery_center.ports import Adapters, Messaging
from delivery_center.settings import Settings
from rota_common.bus.feed import SAVE_EVERY_S, Feed
from rota_common.runtime.service import Service
from rota_contracts.messages.delivery import DeliveryType


def over_bus(settings: Settings, service: Service, adapters: Adapters) -> Messaging:
    feed = Feed(service.bus, service.publish, counts=adapters.feed_counts, clock=service.runtime.clock)
    service.every(SAVE_EVERY_S, feed.save_counts, name="feed", release=feed.save_counts)
    return Messaging(
        executions=NatsExecutions(service.ask),
        publisher=NatsFeedPublisher(service.publish, feed),
        target_events=NatsTargetEvents(service.publish),
        recipients=NatsRecipients(service.ask),
        channels={
            DeliveryType.PROCESS: NatsProcess(service.bus, timeout=settings.attempt_timeout),
            DeliveryType.NOTIFY: NatsNotify(service.publish, adapters.subscriptions),
        },
    )
