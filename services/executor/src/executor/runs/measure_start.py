"""The measurement of the time that a trigger waits for the start of its run."""

from executor.domain.run import Run
from rota_common.runtime import traces
from rota_common.runtime.metrics import START_DELAY, exemplar


def measure_start(run: Run) -> None:
    """Of a new run. The clocks of two machines may differ: a negative wait is none."""
    trigger = run.execution.trigger
    delay = (run.execution.created_at - trigger.received_at).total_seconds()
    START_DELAY.labels(trigger.type.value).observe(max(delay, 0.0), exemplar(traces.trace_id(run.traceparent)))
