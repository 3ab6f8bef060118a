"""The fault points: each service and the steps at which it is killed. A full run hits them all."""

from dataclasses import dataclass

BUSY, QUIET = "while many are in flight", "while few are in flight"
SERVERS = ("nats-server", "mongod")


@dataclass(frozen=True)
class FaultPoint:
    """`step` is one of `Traps.reached`; for a server, how many executions are in flight when it dies."""

    victim: str
    step: str

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

FAULT_POINTS = tuple(FaultPoint(victim, step) for victim, steps in STEPS.items() for step in steps)
