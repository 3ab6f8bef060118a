"""The streams and buckets, declared in one place and applied by one command; services never create them."""

from dataclasses import dataclass
from typing import Literal

from rota_contracts.catalog import CHANNELS, ROOT

MINUTE, HOUR, DAY = 60, 3600, 86400
MIB = 1024 * 1024

ROBOTS_BUCKET = "robots"
"""Key-value bucket: `<team>.<member>` → the robot's definition (rota_contracts.robots.robot.Robot)."""

OUTPUTS_BUCKET = "outputs"
"""Object store: texts over 256 KB (rota_contracts.messages.text.BlobRef)."""

ATTACHMENTS_BUCKET = "attachments"
"""Object store: attachments of results (rota_contracts.messages.attachment)."""

ATTACHMENTS_KEPT_S = 90 * DAY


@dataclass(frozen=True)
class Stream:
    """`max_age` and `duplicate_window` in seconds. A full stream rejects new messages and keeps the old ones."""

    name: str
    subjects: tuple[str, ...]
    retention: Literal["limits", "workqueue"]
    max_age: int
    max_bytes: int
    duplicate_window: int


@dataclass(frozen=True)
class Consumer:
    """A durable pull consumer. `ack_wait` in seconds: a message without a sign of life is redelivered after it."""

    stream: str
    durable: str
    filter_subject: str
    service: str
    ack_wait: int = 15
    max_ack_pending: int = 1000


# fmt: off
STREAMS = (
    Stream("TRIGGERS",   (f"{ROOT}.trigger.received.>",), "workqueue", 7 * DAY, 256 * MIB, 10 * MINUTE),
    Stream("EXECUTIONS", (f"{ROOT}.execution.>", f"{ROOT}.validation.>", f"{ROOT}.learning.>",
                          f"{ROOT}.delivery.requested.>", f"{ROOT}.delivery.accepted.>"), "limits", 3 * DAY, 1024 * MIB, 10 * MINUTE),
    Stream("DELIVERIES", (f"{ROOT}.delivery.attempted.>", f"{ROOT}.delivery.completed.>",
                          f"{ROOT}.delivery.settled.>", f"{ROOT}.delivery.failed.>"), "limits", 14 * DAY, 1024 * MIB, 10 * MINUTE),
    Stream("FACTS",      (f"{ROOT}.trigger.admitted.>", f"{ROOT}.trigger.rejected.>", f"{ROOT}.trigger.missed.>",
                          f"{ROOT}.robot.>", f"{ROOT}.plan.>", f"{ROOT}.notification.>", f"{ROOT}.target.>",
                          f"{ROOT}.audit.>"), "limits", 14 * DAY, 512 * MIB, 10 * MINUTE),
    Stream("DEAD",       (f"{ROOT}.dead.>",), "limits", 30 * DAY, 256 * MIB, 10 * MINUTE),
)
# fmt: on


def consumers() -> list[Consumer]:
    """One durable for every (channel, consuming service) of the catalog."""
    return [
        Consumer(channel.stream, channel.durable(service), channel.pattern, service)
        for channel in CHANNELS.values()
        if channel.stream is not None
        for service in sorted(channel.consumers - {"anyone"})
    ]
