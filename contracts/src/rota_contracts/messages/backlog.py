"""Backlogs: accepted events that wait until their robot has room, or goes on."""

from pydantic import Field

from rota_contracts.model import Instant, Name, Part, Payload


class FullBacklog(Part):
    """A robot, or a whole team, for which no more events are accepted."""

    team_id: Name
    member_id: Name | None = Field(default=None, description="null = the team, with all its robots")
    waiting: int = Field(ge=0, description="events that wait")


class BacklogReportedV1(Payload):
    """Published by the scheduler twice a second: the full backlogs, of all robots and teams.

    `team_id` and `member_id` are `_all_`.
    """

    full: list[FullBacklog] = []
    at: Instant
