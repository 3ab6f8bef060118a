"""The two base classes of everything that travels: parts, and payloads that have a subject of their own."""

from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

NAME_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""A team's or a member's name: it is a token of a NATS subject, so no dots, spaces or wildcards."""

Instant = AwareDatetime
"""A point in time; one without an offset is refused, because nobody could say when it is."""

Json = Any
"""Any JSON value."""


class Part(BaseModel):
    """A piece of a payload. Frozen; a reader ignores fields it doesn't know yet (version 1 may grow)."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Payload(Part):
    """The body of one message of the bus. Each says whose it is: its subject ends in `<team_id>.<member_id>`."""

    team_id: Name
    member_id: Name
