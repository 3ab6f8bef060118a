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


def target_lines(first: DeliveryResult | None, read: DeliveryReply | None) -> list[str]:
    """A line for each target, without the attempts at it; none for a robot without any."""
    if read is not None:
        return [line for target in read.targets for line in [_result(target.result), *_next(target)]]
    return [_result(one) for one in first.results] if first is not None else []


def undelivered(first: DeliveryResult | None, read: DeliveryReply | None) -> list[str]:
    """Each target that isn't reached although it was tried, and why; and why nothing was sent at all."""
    known = read or first
    if known is None:
        return []
    results = [target.result for target in read.targets] if read else first.results if first else []
    lines = [f"{each.type.value} {each.target}: {_why(each)}" for each in results if not each.success and each.error]
    return lines or ([known.error] if known.error else [])


EXCERPT = 200
NO_TARGETS = "none: the robot has no delivery preferences"


def _target(target: TargetDetail) -> list[str]:
    return [_result(target.result), *(f"    {_attempt(one)}" for one in target.attempts), *_next(target)]


def _next(target: TargetDetail) -> list[str]:
    return [f"    {utc_time(target.next_attempt_at)}  next attempt"] if target.next_attempt_at else []


def _attempt(one: AttemptDetail) -> str:
    outcome = "delivered" if one.ok else "failed"
    error = f": {one.error}" if one.error else ""
    return f"{utc_time(one.at)}  {outcome} after {one.latency_ms} ms{error}{_response(one.details)}"


def _response(details: object) -> str:
    """The receiver's response, as far as it is stored."""
    body = details.get("body") if isinstance(details, dict) else None
    text = " ".join(str(body or "").split())
    return f", response: {text[:EXCERPT]}" if text else ""


def _why(one: ChannelResult) -> str:
    return f"{one.error}{'' if one.final else ' (will be retried)'}"


def _result(one: ChannelResult) -> str:
    return (
        f"{'✓' if one.success else '✗'} {one.type.value} {one.target}, attempts {one.attempts}"
        + (f": {one.error}" if one.error else "")
        + ("" if one.final else " (will be retried)")
    )
