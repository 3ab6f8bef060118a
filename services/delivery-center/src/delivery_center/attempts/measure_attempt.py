"""The metrics of an attempt at a target. What isn't sent (a dry run) is none."""

from delivery_center.domain.delivery import Delivery, Target
from rota_common.runtime import traces
from rota_common.runtime.metrics import ATTEMPT_SECONDS, ATTEMPTS, DELIVERY_DELAY, DELIVERY_SECONDS, exemplar
from rota_contracts.messages.delivery import DeliveryType
from rota_contracts.messages.delivery_log import TargetState

for _channel in DeliveryType:
    for _state in (TargetState.DELIVERED, TargetState.RETRYING, TargetState.FAILED):
        ATTEMPTS.labels(_channel.value, _state.value)  # 0 first: a rate needs where it began


def measure_attempt(delivery: Delivery, attempted: Target) -> None:
    """Of the last attempt. A delivery's time counts from its request, a replay's from the replay."""
    channel, last = attempted.type.value, attempted.attempts[-1]
    trace = exemplar(traces.trace_id(delivery.traceparent))
    waited, took = (last.at - delivery.created_at).total_seconds(), last.latency_ms / 1000
    ATTEMPTS.labels(channel, attempted.state.value).inc()
    ATTEMPT_SECONDS.labels(channel).observe(took, trace)
    if len(attempted.attempts) == 1:
        DELIVERY_DELAY.labels(channel).observe(max(waited, 0.0), trace)
    if attempted.state is TargetState.DELIVERED:
        DELIVERY_SECONDS.labels(channel).observe(max(waited, 0.0) + took, trace)
