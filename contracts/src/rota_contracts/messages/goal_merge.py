"""Merging what a run wants into one that waits for its slot (SC-13)."""

from pydantic import Field

from rota_contracts.messages.trigger import TriggerType
from rota_contracts.model import Instant, Name, Part


class ListWaiting(Part):
    """Question to the scheduler: which executions of this robot wait for their first slot?"""

    team_id: Name
    member_id: Name
    limit: int = Field(default=10, ge=1, le=100)


class Waiting(Part):
    """`about`: what woke it, in one line."""

    execution_id: str
    type: TriggerType
    about: str = ""
    queued_at: Instant


class WaitingPage(Part):
    """The oldest first."""

    waiting: list[Waiting] = []


class MergeInto(Part):
    """Question to the scheduler: let this execution, which waits for its first slot, reach these goals too.

    `merge_id` is the asker's: merging twice under it merges once.
    """

    team_id: Name
    member_id: Name
    execution_id: str
    merge_id: str
    goals: str = Field(min_length=1, max_length=20_000)


class MergeReply(Part):
    """`done` is false when it doesn't wait any more: then it is the executor's, or there is none."""

    done: bool
