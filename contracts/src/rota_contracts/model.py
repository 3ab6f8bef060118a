"""The base classes of all messages: parts, and payloads, which have a subject of their own."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

NAME_PATTERN = r"^[A-Za-z0-9_-]{1,64}$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""A team's or a member's name: it is a token of a NATS subject, so no dots, spaces or wildcards."""

ALL = "_all_"
"""In place of a team's or a member's name: a fact that concerns no single one."""

Instant = AwareDatetime
"""A point in time, with an offset."""

Json = Any
"""Any JSON value."""


class Part(BaseModel):
    """A part of a payload. Frozen; a reader ignores fields that it does not know, as version 1 may grow."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, and a third of its time: frozen parts share what isn't updated, and have nothing private."""
        if deep:
            return super().model_copy(update=update, deep=True)
        copy, new = type(self).__new__(type(self)), update or {}
        object.__setattr__(copy, "__dict__", {**self.__dict__, **new})
        object.__setattr__(copy, "__pydantic_fields_set__", self.__pydantic_fields_set__ | new.keys())
        object.__setattr__(copy, "__pydantic_extra__", None)
        object.__setattr__(copy, "__pydantic_private__", None)
        return copy


class Payload(Part):
    """The body of a message of the bus. Its subject ends in `<team_id>.<member_id>`."""

    team_id: Name
    member_id: Name
