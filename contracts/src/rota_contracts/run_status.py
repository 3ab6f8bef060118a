"""The states of triggers and runs, apart from the messages that hold them: a command needs their names alone."""

from enum import StrEnum


class ExecStatus(StrEnum):
    """The status of a run. `waiting` needs a person's answer; `paused` needs a resume."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (ExecStatus.COMPLETED, ExecStatus.FAILED, ExecStatus.CANCELLED)


class TriggerState(StrEnum):
    """The state of a trigger."""

    UNKNOWN = "unknown"
    QUEUED = "queued"
    ADMITTED = "admitted"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    REJECTED = "rejected"


class RetryableStatus(StrEnum):
    """`rejected`: its trigger started nothing. `failed`: its run failed."""

    REJECTED = "rejected"
    FAILED = "failed"
