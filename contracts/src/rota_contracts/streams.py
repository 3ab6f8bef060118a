"""The streams and buckets, declared in one place and applied by one command; services never create them."""

from dataclasses import dataclass
from typing import Literal

from rota_contracts.catalog import CHANNELS, ROOT

MINUTE, HOUR, DAY = 60, 3600, 86400
MIB = 1024 * 1024

ROBOTS_BUCKET = "robots"
"""Key-value bucket: `<team>.<member>` → the robot's definition (rota_contracts.robots.robot.Robot)."""

DEFINITIONS_BUCKET = "definitions"
"""Key-value bucket: a team's numbered sets, and the revisions that they name
(rota_contracts.definitions.definition)."""

OUTPUTS_BUCKET = "outputs"
"""Object store: texts over 256 KB (rota_contracts.messages.text.BlobRef). Without an age: the executor removes those of a
run with the run."""

ATTACHMENTS_BUCKET = "attachments"
"""Object store: attachments of results (rota_contracts.messages.attachment)."""

ATTACHMENTS_KEPT_S = 90 * DAY

HANDLING_STREAM = "HANDLING"
"""Marks of messages that are handled again and again (rota_common.bus.handling_marks), and of dead letters."""

REDRIVE = "redrive"
"""In place of a consumer's name: marks of dead letters that are being redriven."""

REQUESTS = frozenset({"TRIGGERS", "EXECUTIONS"})
"""Streams of work: a consumer that is made later begins with what is there. Of other streams it begins with what is
published from then on: 14 days of facts would be news of long ago."""
KEEP_DAYS = 90
"""Days that runs and deliveries are kept once they are over, unless ROTA_KEEP_DAYS says another number."""

RUNS_PER_DAY, FEED_BYTES_PER_RUN, FEED_DAYS = 20_000, 4 * 1024, 14
"""The rate that the feed is sized for: beyond it, the feed holds fewer days."""

REFUSE_AT = 0.9
"""The share of a stream or bucket at which new work is refused, so that accepted work always finds room."""

TEAM_SHARE = 0.25
"""The share of TRIGGERS that one team's waiting triggers may take, and of the long texts that its executions keep."""
TRIGGERS_KEPT_S = 7 * DAY
"""How long a trigger may wait: on the bus, and for its first slot."""


@dataclass(frozen=True)
class Stream:
    """`max_age` and `duplicate_window` in seconds.

    `retention`: `interest` keeps a message until every consumer of its subject has acknowledged it, and a message
    without a consumer not at all; `workqueue` until its one consumer has; `limits` until it is too old. `discard`, when
    it is full: `new` refuses the new message, `old` drops the oldest. `needed`: accepted work can't go on without it.
    `remembered`: its numbers are kept elsewhere, so one that is made anew, after a loss, begins above all of before.
    """

    name: str
    subjects: tuple[str, ...]
    retention: Literal["limits", "interest", "workqueue"]
    max_age: int
    max_bytes: int
    duplicate_window: int
    latest_only: bool = False
    """Keep the last message of each subject alone."""
    discard: Literal["new", "old"] = "new"
    needed: bool = True
    remembered: bool = False


@dataclass(frozen=True)
class Bucket:
    """A key-value bucket or an object store; a full one refuses. `ttl` in seconds, 0: for ever."""

    name: str
    kind: Literal["KV", "OBJ"]
    max_bytes: int
    ttl: int = 0
    needed: bool = False

    @property
    def stream(self) -> str:
        """The name of the stream that holds it."""
        return f"{self.kind}_{self.name}"


@dataclass(frozen=True)
class Consumer:
    """A durable pull consumer. `ack_wait` in seconds: a message without a sign of life is redelivered after it. Handlers
    give one every third of it; a dead one's message waits no longer than a dead worker's lease.

    `start`: what a consumer that is made later than its stream begins with.
    """

    stream: str
    durable: str
    filter_subject: str
    service: str
    ack_wait: int = 5
    max_ack_pending: int = 1000
    start: Literal["all", "new"] = "all"


# fmt: off
STREAMS = (
    Stream("TRIGGERS",   (f"{ROOT}.trigger.received.>",), "workqueue", TRIGGERS_KEPT_S, 256 * MIB, 10 * MINUTE),
    Stream("EXECUTIONS", (f"{ROOT}.execution.>", f"{ROOT}.validation.>", f"{ROOT}.learning.>",
                          f"{ROOT}.delivery.requested.>", f"{ROOT}.delivery.accepted.>"), "interest", 3 * DAY, 1024 * MIB, 10 * MINUTE),
    Stream("DELIVERIES", (f"{ROOT}.delivery.attempted.>", f"{ROOT}.delivery.completed.>",
                          f"{ROOT}.delivery.settled.>", f"{ROOT}.delivery.failed.>"), "limits", FEED_DAYS * DAY,
                          RUNS_PER_DAY * FEED_DAYS * FEED_BYTES_PER_RUN, 10 * MINUTE, discard="old", needed=False, remembered=True),
    Stream("FACTS",      (f"{ROOT}.trigger.admitted.>", f"{ROOT}.trigger.rejected.>", f"{ROOT}.trigger.missed.>",
                          f"{ROOT}.robot.>", f"{ROOT}.plan.>", f"{ROOT}.notification.>", f"{ROOT}.target.>",
                          f"{ROOT}.audit.>", f"{ROOT}.approval.>", f"{ROOT}.notice.>",
                          f"{ROOT}.quarantine.>", f"{ROOT}.team.>"), "interest", 14 * DAY, 512 * MIB, 10 * MINUTE),
    Stream("DEAD",       (f"{ROOT}.dead.>",), "limits", 30 * DAY, 256 * MIB, 10 * MINUTE, needed=False),
    Stream(HANDLING_STREAM, (f"{ROOT}.handling.>",), "limits", 30 * DAY, 16 * MIB, 10 * MINUTE, latest_only=True,
           discard="old", needed=False),
)
BUCKETS = (
    Bucket(ROBOTS_BUCKET,      "KV",  512 * MIB),
    Bucket(DEFINITIONS_BUCKET, "KV",  512 * MIB),
    Bucket(OUTPUTS_BUCKET,     "OBJ", 1024 * MIB, needed=True),
    Bucket(ATTACHMENTS_BUCKET, "OBJ", 2048 * MIB, ATTACHMENTS_KEPT_S),
)
# fmt: on
BACKED_UP_FIRST = ("TRIGGERS",)
"""What is accepted leaves these for MongoDB: read before MongoDB, it is in one of the two."""

BACKED_UP = ("DELIVERIES", "DEAD", f"OBJ_{OUTPUTS_BUCKET}", f"OBJ_{ATTACHMENTS_BUCKET}")
"""MongoDB refers to what is in these, or it is only here: read after MongoDB, it is there. All else is made again."""


def consumers() -> list[Consumer]:
    """One durable for every (channel, consuming service) of the catalog."""
    return [
        Consumer(
            channel.stream,
            channel.durable(service),
            channel.pattern,
            service,
            start="all" if channel.stream in REQUESTS else "new",
        )
        for channel in CHANNELS.values()
        if channel.stream is not None
        for service in sorted(channel.consumers - {"anyone"})
    ]


def handling_subject(durable: str, seq: int | str) -> str:
    """The subject of a consumer's mark about message `seq` of its stream; `*` for all."""
    return f"{ROOT}.handling.{durable}.{seq}"
