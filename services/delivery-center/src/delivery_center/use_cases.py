"""The use cases of the delivery-center, one instance of each."""

from dataclasses import dataclass
from datetime import timedelta

from delivery_center.attempts.attempt_targets import AttemptTargets
from delivery_center.attempts.check_permission import CheckPermission
from delivery_center.attempts.concurrency_limits import ConcurrencyLimits
from delivery_center.attempts.deliver import Deliver
from delivery_center.attempts.paused_executions import PausedExecutions
from delivery_center.attempts.recording_channel import RecordingChannel
from delivery_center.attempts.reject_request import RejectRequest
from delivery_center.attempts.retry import Finish, Retry
from delivery_center.attempts.stop_retries import StopRetries
from delivery_center.attempts.sweep import Sweep
from delivery_center.delivery_log.list_deliveries import ListDeliveries
from delivery_center.delivery_log.read_delivery import ReadDelivery
from delivery_center.delivery_log.replay import Replay
from delivery_center.domain.retry_policy import RetryPolicy
from delivery_center.manage_subscriptions import ManageSubscriptions
from delivery_center.manage_suppressions import ManageSuppressions
from delivery_center.notices.send_notice import SendNotice
from delivery_center.ports import Adapters, Messaging
from delivery_center.settings import Settings
from delivery_center.targets.bring_forward import BringForward
from delivery_center.targets.circuit_breakers import CircuitBreakers
from delivery_center.targets.manage_targets import ManageTargets
from rota_common.runtime.service import Service
from rota_common.spans.export_spans import ExportSpans
from rota_common.stores.team_documents import RemoveTeam
from rota_contracts.messages.delivery import DeliveryType

NOTICE_WEBHOOKS = 2
"""Webhooks of a team's notices at once: a slow receiver takes no other team's place."""

LEASE_MARGIN_S = 30.0
REPLY_MARGIN_S = 2.0
"""On top of an attempt's time, for a channel to read a reply that came in time."""


@dataclass(frozen=True, kw_only=True)
class UseCases:
    deliver: Deliver
    reject_request: RejectRequest
    sweep: Sweep
    stop_retries: StopRetries
    remove_team: RemoveTeam
    breakers: CircuitBreakers
    paused: PausedExecutions
    read_delivery: ReadDelivery
    list_deliveries: ListDeliveries
    replay: Replay
    targets: ManageTargets
    bring_forward: BringForward
    subscriptions: ManageSubscriptions
    suppressions: ManageSuppressions
    send_notice: SendNotice
    export_spans: ExportSpans

    @classmethod
    def over(cls, adapters: Adapters, messaging: Messaging, *, settings: Settings, service: Service) -> "UseCases":
        clock, deliveries, robots = service.runtime.clock, adapters.deliveries, adapters.robots
        breakers = _breakers(adapters, messaging, settings, service)
        paused = PausedExecutions()
        export = ExportSpans(service=service.name, receiver=adapters.spans, random=service.runtime.random)
        attempt = _attempt(adapters, messaging, settings, service, breakers=breakers, paused=paused, export=export)
        check_permission = CheckPermission(executions=messaging.executions, paused=paused)
        finish = Finish(deliveries=deliveries, publisher=messaging.publisher)
        lease = timedelta(seconds=max(settings.attempt_timeout, settings.longest_mail) + LEASE_MARGIN_S)
        retry = Retry(
            deliveries=deliveries,
            robots=robots,
            check_permission=check_permission,
            attempt=attempt,
            finish=finish,
            clock=clock,
            lease=lease,
        )
        return cls(
            deliver=Deliver(
                deliveries=deliveries,
                robots=robots,
                check_permission=check_permission,
                attempt=attempt,
                publisher=messaging.publisher,
                clock=clock,
            ),
            reject_request=RejectRequest(service.publish),
            sweep=Sweep(retry=retry, interval=settings.sweep_interval),
            stop_retries=StopRetries(deliveries=deliveries, finish=finish, lease=lease),
            remove_team=RemoveTeam(documents=adapters.team_documents),
            breakers=breakers,
            paused=paused,
            read_delivery=ReadDelivery(log=deliveries, texts=adapters.texts),
            list_deliveries=ListDeliveries(deliveries),
            replay=Replay(log=deliveries, robots=robots, publisher=messaging.publisher, clock=clock),
            targets=ManageTargets(store=adapters.failing_targets, breakers=breakers),
            bring_forward=BringForward(
                deliveries=deliveries, targets=adapters.failing_targets, breakers=breakers, clock=clock
            ),
            subscriptions=ManageSubscriptions(subscriptions=adapters.subscriptions, clock=clock),
            suppressions=ManageSuppressions(suppressions=adapters.suppressions, clock=clock),
            send_notice=SendNotice(
                recipients=messaging.recipients,
                sent=adapters.sent_notices,
                robots=robots,
                mail=adapters.notices,
                webhook=adapters.channels[DeliveryType.WEBHOOK],
                limits=ConcurrencyLimits(NOTICE_WEBHOOKS),
                clock=clock,
            ),
            export_spans=export,
        )


def _breakers(adapters: Adapters, messaging: Messaging, settings: Settings, service: Service) -> CircuitBreakers:
    return CircuitBreakers(
        store=adapters.failing_targets,
        events=messaging.target_events,
        clock=service.runtime.clock,
        random=service.runtime.random,
        disable_after=timedelta(seconds=settings.disable_after),
        probe_for=timedelta(seconds=settings.attempt_timeout + REPLY_MARGIN_S),
    )


def _attempt(
    adapters: Adapters,
    messaging: Messaging,
    settings: Settings,
    service: Service,
    *,
    breakers: CircuitBreakers,
    paused: PausedExecutions,
    export: ExportSpans,
) -> AttemptTargets:
    return AttemptTargets(
        channels={**adapters.channels, **messaging.channels},
        recording=RecordingChannel(),
        texts=adapters.texts,
        files=adapters.files,
        paused=paused,
        breakers=breakers,
        limits=ConcurrencyLimits(settings.target_concurrency),
        clock=service.runtime.clock,
        policy=RetryPolicy(settings.retry_schedule, service.runtime.random),
        timeout=settings.attempt_timeout + REPLY_MARGIN_S,
        timeouts={DeliveryType.EMAIL: settings.longest_mail},
        export=export.offer if export.on else None,
    )
