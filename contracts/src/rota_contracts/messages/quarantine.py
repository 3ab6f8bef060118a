"""The quarantine: results that failed validation, kept with their run until a person releases or drops them."""

from enum import StrEnum

from pydantic import Field

from rota_contracts.model import Instant, Name, Part, Payload

NOTE_LIMIT = 500


class QuarantineStatus(StrEnum):
    """`released`: delivered after all. `dropped`: never delivered."""

    HELD = "held"
    RELEASED = "released"
    DROPPED = "dropped"


class QuarantineDecision(StrEnum):
    RELEASE = "release"
    DROP = "drop"


class FailedResult(Part):
    """A result that failed validation: its best turn's score and issues."""

    quarantine_id: str
    task_id: str
    score: float = Field(ge=0, le=1)
    issues: list[str] = Field(default=[], description="the first ten, each cut if it is long")


class Quarantined(FailedResult):
    """A result in quarantine. Its output stays with its run, and is kept as long."""

    member_id: Name
    execution_id: str
    task: str = Field(default="", description="the task's description, cut if it is long")
    held_at: Instant
    status: QuarantineStatus = QuarantineStatus.HELD
    decided_by: str = Field(default="", description="the id of a key or a member")
    decided_at: Instant | None = None
    note: str = Field(default="", max_length=NOTE_LIMIT, description="what the one who decided said")


class QuarantineDecidedV1(Payload):
    """Published when a person has released or dropped a result that failed validation."""

    result: Quarantined


class ListQuarantine(Part):
    """Request to the executor: the results in quarantine, those of the newest runs first. `limit` counts runs; `after`
    is the `next` of the page before."""

    team_id: Name
    member_id: Name | None = None
    execution_id: str | None = None
    status: QuarantineStatus | None = None
    limit: int = Field(default=50, ge=1, le=100)
    after: str = ""


class QuarantinePage(Part):
    """One page of results in quarantine; `next` is empty on the last one."""

    results: list[Quarantined] = []
    next: str = ""


class ReadQuarantined(Part):
    """Request to the executor: read a result in quarantine, with its output."""

    team_id: Name
    quarantine_id: str = Field(min_length=1, max_length=200)


class DecideQuarantined(Part):
    """Request to the executor: release a result in quarantine, or drop it. The first decision counts."""

    team_id: Name
    quarantine_id: str = Field(min_length=1, max_length=200)
    decision: QuarantineDecision
    by: str = Field(min_length=1, max_length=200)
    note: str = Field(default="", max_length=NOTE_LIMIT)


class QuarantineReply(Part):
    """`result` null: the team has none of this id. `refused`: why a decision has no effect. `repeated`: the same
    decision was taken before."""

    result: Quarantined | None = None
    output: str = Field(default="", description="read: the output, cut if it is long")
    cut: bool = False
    refused: str = ""
    repeated: bool = False
