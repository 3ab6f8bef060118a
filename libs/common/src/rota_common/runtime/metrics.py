"""Metrics: each declared once, with a description."""

from prometheus_client import Counter, Gauge, Histogram

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
MODEL_COST = Counter("rota_model_cost_total", "Cost of calls, in its currency.", ["team", "model", "currency"])
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
BUILD_INFO = Gauge("rota_build_info", "1, for the version that runs.", ["service", "version"])

STREAM_BYTES = Gauge("rota_stream_bytes", "Bytes that a stream or bucket of NATS holds.", ["stream"])
STREAM_MAX_BYTES = Gauge("rota_stream_max_bytes", "Bytes that a stream or bucket of NATS may hold.", ["stream"])

MISSED_RUNS = Counter("rota_clock_missed_total", "Missed runs of clocks that are not made up for.", ["reason"])
CLOCK_LATENESS = Histogram(
    "rota_clock_lateness_seconds",
    "Time from the due instant of a clock's run to its place in the queue.",
    buckets=(0.1, 0.5, 1, 2, 5, 10, 60, 600, 3600, 86400),
)
TICK_SECONDS = Histogram(
    "rota_tick_seconds", "Time of one scan of the clocks that are due.", buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10)
)
QUEUE = Gauge(
    "rota_queue", "Executions that wait, hold a slot or are parked, as the dispatcher counts them.", ["state"]
)
CAPACITY = Gauge("rota_capacity", "Executions that may run at once: the pool, or the executors' capacity.")
ROBOTS = Gauge("rota_robots", "Robots that the scheduler knows.")

DATABASE_CHANGES = Counter(
    "rota_database_changes_total",
    "Changes of databases that are sources, by outcome: triggered, unwanted, filtered or refused.",
    ["outcome"],
)
DATABASE_LOST = Counter("rota_database_lost_total", "Gaps in the changes of a database that cannot be read again.")
DATABASES_READ = Gauge("rota_databases_read", "Databases that this replica of the gateway reads.")
