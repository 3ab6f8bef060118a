"""Attempts in metrics: each by its outcome, a delivery's time once it has arrived, and nothing of a dry run."""

from typing import Any

from prometheus_client import REGISTRY

from rota_common.errors import Transient

HOOK = {"preferences": {"webhook": {"targets": [{"url": "https://a.example/1"}]}}}


def counted() -> dict[str, float]:
    outcomes = {
        each: ("rota_delivery_attempts_total", {"outcome": each}) for each in ("delivered", "retrying", "failed")
    }
    times = {name: (f"rota_delivery_{name}_count", {}) for name in ("seconds", "delay_seconds", "attempt_seconds")}
    found = {key: (name, {"channel": "webhook", **labels}) for key, (name, labels) in {**outcomes, **times}.items()}
    return {key: REGISTRY.get_sample_value(name, labels) or 0 for key, (name, labels) in found.items()}


async def test_an_attempt_counts_by_its_outcome_and_a_dry_run_does_not(
    new_harness: Any, robot: Any, request_for: Any
) -> None:  # F16
    harness, before = new_harness(robot(HOOK)), counted()
    harness.webhook.script += [Transient("busy")]
    await harness.deliver(request_for())
    harness.pass_time(seconds=10)
    await harness.retry_what_is_due()
    after = counted()
    assert {name: after[name] - before[name] for name in after} == {
        "delivered": 1,
        "retrying": 1,
        "failed": 0,
        "seconds": 1,
        "delay_seconds": 1,
        "attempt_seconds": 2,
    }
    await harness.deliver(request_for(request_id="dry", executor_mode="dryrun"))
    assert counted() == after
