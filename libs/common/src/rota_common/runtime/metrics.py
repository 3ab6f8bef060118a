"""Metrics: each declared once, with a description. `tests/monitoring` holds their names and labels to conventions.

Buckets lie around what was measured (docs/performance.md) and have the limits of alerts and objectives among them.
"""

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

# An instant for each series, which no rule or dashboard reads. The library hasn't typed this function.
disable_created_metrics()  # type: ignore[no-untyped-call]

WAITS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 3600, 21600, 86400)
"""From a turn of the dispatcher to a day in a backlog."""

CALLS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
"""From a receiver on the same network to a model that thinks."""

MESSAGES = Counter("rota_messages_total", "Messages handled, by outcome.", ["service", "channel", "outcome"])
HANDLING_SECONDS = Histogram(
    "rota_handling_seconds",
    "Time from receiving a message to acknowledging it.",
    ["service", "channel"],
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600),
)
DEAD_LETTERS = Counter("rota_dead_letters_total", "Messages buried.", ["service", "channel"])
PUBLISHED = Counter("rota_published_total", "Facts published.", ["service", "channel"])
QUESTIONS = Counter("rota_questions_total", "Requests answered, by outcome.", ["service", "question", "outcome"])
BACKGROUND_FAILURES = Counter(
    "rota_background_failures_total", "Times a background loop failed and was started again.", ["service", "loop"]
)
UNREADABLE = Counter(
    "rota_unreadable_documents_total", "Documents set aside because this version can't read them.", ["service", "store"]
)
ORPHANED = Counter("rota_orphaned_total", "Messages dropped because the execution that they are for is gone.")
FORGOTTEN = Counter("rota_forgotten_total", "Entries removed when a robot's retention (learn.keep) is over.", ["kind"])
MODEL_CALLS = Counter("rota_model_calls_total", "Calls of models, by outcome.", ["team", "model", "outcome"])
MODEL_TOKENS = Counter("rota_model_tokens_total", "Tokens that went in and came out.", ["team", "model", "direction"])
MODEL_SECONDS = Histogram("rota_model_call_seconds", "Time of one call of a model.", ["model"], buckets=CALLS)
MODEL_COST = Counter("rota_model_cost_total", "Cost of calls, in its currency.", ["team", "model", "currency"])
CEILING_USED = Gauge(
    "rota_ceiling_used_ratio",
    "Share of a team's daily ceiling that is spent or reserved, by what it limits: money or tokens.",
    ["team", "limit"],
)
CEILING_REFUSALS = Counter(
    "rota_ceiling_refusals_total",
    "Calls of models that weren't made, because there is no room below a ceiling.",
    ["scope"],
)
CONNECTOR_FALLBACKS = Counter(
    "rota_connector_fallbacks_total", "Questions that a connector's fallback was asked.", ["connector", "fallback"]
)
CONNECTOR_OPEN = Gauge(
    "rota_connector_open", "1 from the opening of a connector's circuit breaker until it answers.", ["connector"]
)
SPANS = Counter(
    "rota_spans_total",
    "Spans of traces, by outcome: sent, or lost because of a full queue, a receiver that is away, or a refusal.",
    ["service", "outcome"],
)
READY = Gauge("rota_ready", "1 while the service is ready.", ["service"])
BUILD_INFO = Gauge("rota_build_info", "1 for the version that runs.", ["service", "version"])
DEPENDENCY_UP = Gauge("rota_dependency_up", "1 while the server answers the service.", ["service", "dependency"])
LOOP_LAG = Histogram(
    "rota_event_loop_lag_seconds",
    "Time by which the process's event loop wakes a timer too late.",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)

STREAM_BYTES = Gauge("rota_stream_bytes", "Bytes that a stream or bucket of NATS holds.", ["stream"])
STREAM_MAX_BYTES = Gauge("rota_stream_max_bytes", "Bytes that a stream or bucket of NATS may hold.", ["stream"])
STREAM_MESSAGES = Gauge("rota_stream_messages", "Messages that a stream or bucket of NATS holds.", ["stream"])

MISSED_RUNS = Counter("rota_clock_missed_total", "Missed runs of clocks that are not made up for.", ["reason"])
CLOCK_LATENESS = Histogram(
    "rota_clock_lateness_seconds",
    "Time from the due instant of a clock's run to its place in the queue.",
    buckets=(0.1, 0.5, 1, 2, 5, 10, 60, 600, 3600, 86400),
)
TICK_SECONDS = Histogram(
    "rota_tick_seconds", "Time of one scan of the clocks that are due.", buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10)
)
DISPATCHING = Gauge("rota_dispatching", "1 while this replica of the scheduler dispatches.")
QUEUE = Gauge(
    "rota_queue_executions",
    "Executions that wait, hold a slot or are parked, by the replica that dispatches; the others say 0.",
    ["state"],
)
QUEUE_AGE = Gauge(
    "rota_queue_oldest_seconds",
    "Time that the longest waiting execution has waited, by what it waits for: a slot, or its own robot.",
    ["waits_for"],
)
CAPACITY = Gauge("rota_capacity_executions", "Executions that may run at once: the pool, or the executors' capacity.")
EXECUTORS = Gauge("rota_executors", "Executors whose heartbeat the scheduler has heard lately.")
START_DELAY = Histogram(
    "rota_start_delay_seconds",
    "Time from the receipt of a trigger, by a clock from its place in the queue, to the start of its execution.",
    ["trigger"],
    buckets=WAITS,
)

DELIVERY_DELAY = Histogram(
    "rota_delivery_delay_seconds",
    "Time from the request of a delivery to the beginning of its first attempt at a target.",
    ["channel"],
    buckets=WAITS,
)
DELIVERY_SECONDS = Histogram(
    "rota_delivery_seconds",
    "Time from the request of a delivery to the target's acceptance.",
    ["channel"],
    buckets=(*WAITS, 345600),
)
ATTEMPTS = Counter(
    "rota_delivery_attempts_total",
    "Attempts at targets, by the target's state afterwards: delivered, retrying or failed.",
    ["channel", "outcome"],
)
ATTEMPT_SECONDS = Histogram(
    "rota_delivery_attempt_seconds", "Time of one attempt at a target.", ["channel"], buckets=CALLS
)
TARGETS_BLOCKED = Gauge(
    "rota_blocked_targets", "Targets to which nothing is sent, by reason: open or disabled.", ["reason"]
)
ROBOTS = Gauge("rota_robots", "Robots that the scheduler knows.")

DATABASE_CHANGES = Counter(
    "rota_database_changes_total",
    "Changes of databases that are sources, by outcome: triggered, unwanted, filtered or refused.",
    ["outcome"],
)
DATABASE_LOST = Counter("rota_database_lost_total", "Gaps in the changes of a database that cannot be read again.")
DATABASES_READ = Gauge("rota_source_databases", "Databases that this replica of the gateway reads.")


def exemplar(trace_id: str) -> dict[str, str] | None:
    """What leads from a bucket to the trace of one of its cases."""
    return {"trace_id": trace_id} if trace_id else None
