"""A run's deliveries as text: each target, and every attempt at it."""

from rota.timestamps import utc_time
from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryReply, DeliveryResult, TargetDetail


def deliveries(first: DeliveryResult | None, read: DeliveryReply | None) -> list[str]:
    """`first` is the run's record of the first attempts, `read` the delivery-center's current one."""
    if read is not None:
        lines = [line for target in read.targets for line in _target(target)]
        return [*lines, *([f"error: {read.error}"] if read.error else [])] or [NO_TARGETS]
    if first is None:
        return []
    return [_result(one) for one in first.results] or [NO_TARGETS]


EXCERPT = 200
NO_TARGETS = "none: the robot has no delivery preferences"


def _target(target: TargetDetail) -> list[str]:
    lines = [_result(target.result), *(f"    {_attempt(one)}" for one in target.attempts)]
    if target.next_attempt_at is not None:
        lines.append(f"    {utc_time(target.next_attempt_at)}  next attempt")
    return lines


def _attempt(one: AttemptDetail) -> str:
    outcome = "delivered" if one.ok else "failed"
    error = f": {one.error}" if one.error else ""
    return f"{utc_time(one.at)}  {outcome} after {one.latency_ms} ms{error}{_response(one.details)}"


def _response(details: object) -> str:
    """The receiver's response, as far as it is stored."""
    body = details.get("body") if isinstance(details, dict) else None
    text = " ".join(str(body or "").split())
    return f", response: {text[:EXCERPT]}" if text else ""


def _result(one: ChannelResult) -> str:
    return (
        f"{'✓' if one.success else '✗'} {one.type.value} {one.target}, attempts {one.attempts}"
        + (f": {one.error}" if one.error else "")
        + ("" if one.final else " (will be retried)")
    )
