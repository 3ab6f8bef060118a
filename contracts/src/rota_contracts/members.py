"""Members of a team who are people: how they are reached, and what they may decide."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from rota_contracts.model import Name, Part
from rota_contracts.robots.addresses import parse_address
from rota_contracts.robots.preferences import NoticeWebhook
from rota_contracts.roles import Role


def _bare_address(text: str) -> str:
    """The address alone: the member's name is a field of its own."""
    address = parse_address(text)
    if address.display_name:
        raise ValueError(f"expected an address alone, like {address.addr_spec}: the name belongs into display_name")
    return address.addr_spec


MailAddress = Annotated[str, StringConstraints(max_length=320), AfterValidator(_bare_address)]
ContactName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,31}$")]
Contact = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class MemberDefinition(Part):
    """A person of a team, as the team's admin writes it. `contacts` are for people to read: Rota sends mail,
    and webhooks if there is a `webhook`."""

    member_id: Name
    member_type: Literal["user"] = "user"
    display_name: str = Field(default="", max_length=200)
    email: MailAddress
    role: Role = Field(default=Role.MEMBER, description="viewer, member, admin or owner, as of keys")
    contacts: dict[ContactName, Contact] = Field(default={}, max_length=20, description="phone, slack …")
    webhook: NoticeWebhook | None = Field(default=None, description="gets the notices that are mailed, too")


def parse_member(raw: Mapping[str, Any]) -> MemberDefinition:
    """Parse an admin's definition strictly. Raises pydantic's ValidationError, whose `errors()` name each field."""
    return MemberDefinition.model_validate(raw, extra="forbid")
