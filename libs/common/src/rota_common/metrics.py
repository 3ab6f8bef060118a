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
READY = Gauge("rota_ready", "1 while the service is ready.", ["service"])
