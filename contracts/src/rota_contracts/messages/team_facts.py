"""Facts about teams: removed."""

from pydantic import Field

from rota_contracts.model import Instant, Payload


class TeamRemovedV1(Payload):
    """Published when a team is removed, and again for a month: each service ends and removes what it keeps of it.

    `member_id` is `_all_`.
    """

    removed_at: Instant
    round: int = Field(ge=1, description="how often it is published by now: what came late goes with the next round")
