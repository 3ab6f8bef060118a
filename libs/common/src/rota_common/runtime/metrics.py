"""Every metric, declared once, with a sentence."""

from prometheus_client import Counter, Gauge, Histogram

MESSAGES = Counter(
    "rota_messages_total", "Messages handled, by what became of them.", ["service", "channel", "outcome"]
)
HANDLING_SECONDS = Histogram(
    "rota_handling_seconds",
    "Time from taking a message to settling it.",
    ["service", "channel"],
    buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600),
)
DEAD_LETTERS = Counter("rota_dead_letters_total", "Messages buried.", ["service", "channel"])
PUBLISHED = Counter("rota_published_total", "Facts published.", ["service", "channel"])
QUESTIONS = Counter("rota_questions_total", "Questions answered, by outcome.", ["service", "question", "outcome"])
BACKGROUND_FAILURES = Counter(
    "rota_background_failures_total", "Times a background loop failed and was started again.", ["service", "loop"]
)
FORGOTTEN = Counter("rota_forgotten_total", "What robots keep no longer (learn.keep) and was removed.", ["kind"])
READY = Gauge("rota_ready", "1 while the service is ready.", ["service"])

MISSED_RUNS = Counter("rota_clock_missed_total", "Runs that were due by a clock and aren't made up for.", ["reason"])
CLOCK_LATENESS = Histogram(
    "rota_clock_lateness_seconds",
    "Time from the instant that a run was due by a clock to its place in the queue.",
    buckets=(0.1, 0.5, 1, 2, 5, 10, 60, 600, 3600, 86400),
)
TICK_SECONDS = Histogram(
    "rota_tick_seconds", "Time of one look at the clocks that are due.", buckets=(0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10)
)
QUEUE = Gauge(
    "rota_queue", "Executions that wait, hold a slot or are parked, as the dispatcher counts them.", ["state"]
)
CAPACITY = Gauge("rota_capacity", "Executions that may run at once: the pool, or what the executors alive can take.")
ROBOTS = Gauge("rota_robots", "Robots that the scheduler knows.")

DATABASE_CHANGES = Counter(
    "rota_database_changes_total",
    "Changes of databases that are sources, by what became of them: triggered, unwanted, filtered or refused.",
    ["outcome"],
)
DATABASE_LOST = Counter("rota_database_lost_total", "Times that changes of a database were missed for good.")
DATABASES_READ = Gauge("rota_databases_read", "Databases that this replica of the gateway reads.")
