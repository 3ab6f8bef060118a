"""The retry policy: the outcomes of an attempt, the delays between attempts, and what an outcome makes of a target."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import assert_never

from delivery_center.domain.delivery import Attempt, Target
from rota_common.retries import JITTER
from rota_contracts.messages.delivery_log import TargetState
from rota_contracts.model import Json


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The receiver has it."""

    recipients: tuple[str, ...] = ()
    details: Json = None


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """A later attempt may succeed; `after` is the least delay in seconds that the receiver asked for."""

    error: str
    after: float | None = None
    details: Json = None


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    """No attempt will succeed. `gone`: the receiver says that nothing else sent to this target will."""

    error: str
    details: Json = None
    gone: bool = False


Outcome = Succeeded | TransientFailure | PermanentFailure


@dataclass(frozen=True)
class RetryPolicy:
    """`delays` in seconds, after the first, second … failed attempt; with jitter, so that retries are spread out."""

    delays: tuple[float, ...]
    random: Random

    def delay(self, failed: int, after: float | None) -> float | None:
        """Seconds until the next attempt, after `failed` of them; None when there is none.

        The receiver's `Retry-After` is respected, up to the longest delay of the policy.
        """
        if failed > len(self.delays):
            return None
        jittered = self.delays[failed - 1] * self.random.uniform(1 - JITTER, 1 + JITTER)
        return max(jittered, min(after or 0.0, max(self.delays)))


def record(
    target: Target, outcome: Outcome, *, at: datetime, latency_ms: int, now: datetime, policy: RetryPolicy
) -> Target:
    """The target after an attempt that began `at` and ended `now`."""
    failed = len(target.attempts) + 1
    state, delay = TargetState.FAILED, None
    match outcome:
        case Succeeded(recipients, details):
            state = TargetState.DELIVERED
            attempt = Attempt(
                at=at, ok=True, final=True, latency_ms=latency_ms, recipients=list(recipients), details=details
            )
        case PermanentFailure(error, details, _):
            attempt = Attempt(at=at, ok=False, final=True, latency_ms=latency_ms, error=error, details=details)
        case TransientFailure(error, after, details):
            delay = policy.delay(failed, after)
            if delay is None:
                error = f"{error} (given up after {failed} attempts)"
            else:
                state = TargetState.RETRYING
            attempt = Attempt(at=at, ok=False, final=delay is None, latency_ms=latency_ms, error=error, details=details)
        case other:
            assert_never(other)
    return target.model_copy(
        update={
            "state": state,
            "attempts": [*target.attempts, attempt],
            "next_attempt_at": None if delay is None else now + timedelta(milliseconds=round(delay * 1000)),
            "unpublished": True,
        }
    )
