"""A member who is a person, as the gateway keeps one. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from rota_contracts.members import MemberDefinition, parse_member
from trigger_gateway.problems import FieldProblem, Invalid, invalid


@dataclass(frozen=True)
class Member:
    """`rev` grows with every change."""

    team: str
    definition: MemberDefinition
    created_at: datetime
    rev: int = 1


def member_definition(raw: Mapping[str, Any], *, of: str | None = None) -> MemberDefinition:
    """Parse what an admin writes; raises Invalid, which names every wrong field. `of` is the member that is changed:
    its id may be left out, and stays."""
    given = dict(raw) if of is None else {"member_id": of, **raw}
    try:
        parsed = parse_member(given)
    except ValidationError as error:
        raise invalid("invalid_member", "the member is not valid", error) from error
    if of is not None and parsed.member_id != of:
        wrong = FieldProblem("member_id", f"expected {of} or nothing: a member keeps its member_id")
        raise Invalid("invalid_member", "the change of the member is not valid", fields=[wrong])
    return parsed
