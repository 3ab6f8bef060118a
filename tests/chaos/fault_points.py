"""The fault points: each service and the steps at which it is killed, and what happens to the servers. A full run hits
them all."""

from collections.abc import Collection
from dataclasses import dataclass

from rota_contracts.streams import STREAMS

BUSY, QUIET = "while many are in flight", "while few are in flight"
SERVERS = NATS, MONGO = ("nats-server", "mongod")
QDRANT = "qdrant"
CUTS = {"cut off from NATS": (NATS,), "cut off from MongoDB": (MONGO,), "cut off from both": SERVERS}
META = "meta"
"""The group of all nodes of a NATS cluster, which has a leader as each stream has one."""

KILLS, PARTITIONS, LEADERS = "kills", "partitions", "leaders"
STEPDOWNS, KNOWLEDGE, LIMITS = "stepdowns", "knowledge", "limits"
POINTED = (KILLS, PARTITIONS, LEADERS, STEPDOWNS, KNOWLEDGE, LIMITS)
CLOCKS, POISON = "clocks", "poison"
KINDS = (*POINTED, CLOCKS, POISON)
"""The kinds of faults. Only those of POINTED have points: clocks and poison are there all the time."""

LASTING = frozenset({PARTITIONS, STEPDOWNS, LIMITS})
"""These begin and end; what has failed is not started again."""


@dataclass(frozen=True)
class FaultPoint:
    """`step`: of a service, one of `Traps.reached`; of a server, how many executions are in flight when it dies; of a
    partition, one of CUTS; of a leader that is killed and of a limit, the stream. `times`: how often a full run hits
    it, at least."""

    victim: str
    step: str
    kind: str = KILLS
    times: int = 1

    @property
    def name(self) -> str:
        return f"{self.victim} at {self.step}"


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
FULL = tuple(stream.name for stream in STREAMS if stream.needed and stream.discard == "new")

FAULT_POINTS = tuple(FaultPoint(victim, step) for victim, steps in STEPS.items() for step in steps)
PARTITION_POINTS = tuple(
    FaultPoint(victim, cut, PARTITIONS)
    for victim in STEPS
    if victim not in SERVERS
    for cut, servers in CUTS.items()
    if victim != "validator" or MONGO not in servers  # it has no database
)
SERVER_POINTS = (
    *(FaultPoint(NATS, group, LEADERS) for group in (META, "TRIGGERS", "EXECUTIONS", "DELIVERIES")),
    *(FaultPoint(MONGO, step, STEPDOWNS, times=2) for step in (QUIET, BUSY)),
    *(FaultPoint(QDRANT, step, KNOWLEDGE, times=2) for step in (QUIET, BUSY)),
    *(FaultPoint(NATS, stream, LIMITS) for stream in FULL),
)


def points_of(kinds: Collection[str]) -> tuple[FaultPoint, ...]:
    return tuple(point for point in (*FAULT_POINTS, *PARTITION_POINTS, *SERVER_POINTS) if point.kind in kinds)
