"""The autonomy of a robot: which calls of tools and processes wait for a person's approval, or need a role."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.model import Part
from rota_contracts.robots.clock_config import Duration

CallPattern = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
"""A process, a built-in tool, `server.tool`, or such a name whose end is `*`: `crm.*`."""


class Autonomy(StrEnum):
    """`read_only`: calls that change something are refused. `supervised`: they wait for an approval. `full`: they are
    made at once."""

    READ_ONLY = "read_only"
    SUPERVISED = "supervised"
    FULL = "full"


class Approvals(Part):
    """Exceptions from a robot's autonomy. `always_ask` goes before `auto_approve`; neither lets a `read_only` robot
    change anything."""

    always_ask: list[CallPattern] = Field(default=[], max_length=200, description="calls that always wait")
    auto_approve: list[CallPattern] = Field(default=[], max_length=200, description="calls that never wait")
    wait: Duration = Field(default="3d", description="how long a call waits; then it is denied")


class NeededRoles(Part):
    """Calls that need a role, or one above it. Where several lists name a call, the highest role is needed."""

    member: list[CallPattern] = Field(default=[], max_length=200, description="calls of a member, an admin or an owner")
    admin: list[CallPattern] = Field(default=[], max_length=200, description="calls of an admin or an owner")
    owner: list[CallPattern] = Field(default=[], max_length=200, description="calls of an owner alone")
