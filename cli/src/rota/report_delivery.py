"""A run's deliveries as text: each target, and every try at it."""

from rota.timestamps import moment
from rota_contracts.messages.delivery import AttemptDetail, ChannelResult, DeliveryReply, DeliveryResult, TargetDetail


def deliveries(first: DeliveryResult | None, read: DeliveryReply | None) -> list[str]:
    """`first` is what the run knows of its first tries, `read` what the delivery-center knows by now."""
    if read is not None:
        lines = [line for target in read.targets for line in _target(target)]
        return [*lines, *([f"error: {read.error}"] if read.error else [])] or [NOBODY]
    if first is None:
        return []
    return [_result(one) for one in first.results] or [NOBODY]


EXCERPT = 200
NOBODY = "none: the robot has no delivery preferences"


def _target(target: TargetDetail) -> list[str]:
    lines = [_result(target.result), *(f"    {_attempt(one)}" for one in target.attempts)]
    if target.next_attempt_at is not None:
        lines.append(f"    {moment(target.next_attempt_at)}  next try")
    return lines


def _attempt(one: AttemptDetail) -> str:
    outcome = "reached" if one.ok else "failed"
    told = f": {one.error}" if one.error else ""
    return f"{moment(one.at)}  {outcome} after {one.latency_ms} ms{told}{_said(one.details)}"


def _said(details: object) -> str:
    """The receiver's own words, as far as they were kept."""
    body = details.get("body") if isinstance(details, dict) else None
    text = " ".join(str(body or "").split())
    return f", it said: {text[:EXCERPT]}" if text else ""


def _result(one: ChannelResult) -> str:
    return (
        f"{'✓' if one.success else '✗'} {one.type.value} {one.target}, attempts {one.attempts}"
        + (f": {one.error}" if one.error else "")
        + ("" if one.final else " (will be tried again)")
    )
