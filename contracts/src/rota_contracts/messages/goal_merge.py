"""Goal merges: the goals of a run are added to an execution that is queued for its first slot."""

from pydantic import Field

from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import Instant, Name, Part
from rota_contracts.roles import Role


class ListWaiting(Part):
    """Request to the scheduler: list a robot's executions that are queued for their first slot."""

    team_id: Name
    member_id: Name
    limit: int = Field(default=10, ge=1, le=100)


class Waiting(Part):
    """A queued execution. `about` is its trigger in one line."""

    execution_id: str
    type: TriggerType
    about: str = ""
    queued_at: Instant


class WaitingPage(Part):
    """The queued executions, oldest first."""

    waiting: list[Waiting] = []


class MergeInto(Part):
    """Request to the scheduler: add goals to an execution that is queued for its first slot.

    `merge_id` is chosen by the caller: merging twice under it merges once.
    """

    team_id: Name
    member_id: Name
    execution_id: str
    merge_id: str
    goals: str = Field(min_length=1, max_length=20_000)
    role: Role = Field(
        default=Role.MEMBER, description="of the run that gives them: the execution acts in no higher one"
    )


class MergeReply(Part):
    """`done` is false if the execution is no longer queued."""

    done: bool
