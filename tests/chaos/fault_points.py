"""The fault points: each service and the steps at which it is killed, and the servers that it is cut off from. A full
run hits them all."""

from collections.abc import Collection
from dataclasses import dataclass

BUSY, QUIET = "while many are in flight", "while few are in flight"
SERVERS = NATS, MONGO = ("nats-server", "mongod")
CUTS = {"cut off from NATS": (NATS,), "cut off from MongoDB": (MONGO,), "cut off from both": SERVERS}
KILLS, PARTITIONS, CLOCKS, POISON = KINDS = ("kills", "partitions", "clocks", "poison")
"""The kinds of faults. Clocks and poison have no points: they are there all the time."""


@dataclass(frozen=True)
class FaultPoint:
    """`step` is one of `Traps.reached`; for a server, how many executions are in flight when it dies; for a partition,
    one of CUTS."""

    victim: str
    step: str

    @property
    def name(self) -> str:
        return f"{self.victim} at {self.step}"

    @property
    def kind(self) -> str:
        return PARTITIONS if self.step in CUTS else KILLS


STEPS = {
    "trigger-gateway": ("webhook posted", "trigger.received"),
    "scheduler": ("trigger.received", "execution.requested", "execution.started", "execution.finished"),
    "executor": (
        *("execution.requested", "rpc memory.recall"),
        *("model goals", "model tasks", "model run", "model run after tools", "model validation", "model delivery"),
        *("tool", "tool not idempotent", "mcp task", "mcp task not idempotent"),
        *("process task", "process task not idempotent"),
        *("rpc validator.check_rules", "validation.completed"),
        *("delivery.requested", "rpc executor.may_deliver", "delivery.accepted"),
        *("learning.requested", "model learning", "learning.completed"),
    ),
    "validator": ("rpc validator.check_rules", "validation.requested", "model validation"),
    "delivery-center": (
        *("delivery.requested", "rpc executor.may_deliver", "webhook", "mail", "process delivery"),
        "delivery.completed",
    ),
    "learner": ("learning.requested", "model learning", "rpc memory.remember"),
    "memory": ("rpc memory.recall", "rpc memory.remember"),
    **dict.fromkeys(SERVERS, (QUIET, BUSY)),
}

FAULT_POINTS = tuple(FaultPoint(victim, step) for victim, steps in STEPS.items() for step in steps)
PARTITION_POINTS = tuple(
    FaultPoint(victim, cut)
    for victim in STEPS
    if victim not in SERVERS
    for cut, servers in CUTS.items()
    if victim != "validator" or MONGO not in servers  # it has no database
)


def points_of(kinds: Collection[str]) -> tuple[FaultPoint, ...]:
    return tuple(point for point in (*FAULT_POINTS, *PARTITION_POINTS) if point.kind in kinds)
