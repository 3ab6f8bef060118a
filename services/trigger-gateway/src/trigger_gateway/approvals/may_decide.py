"""The permission to decide about a robot's calls by a link. No I/O."""

from rota_contracts.members import MemberDefinition
from rota_contracts.roles import Role


def may_decide(member: MemberDefinition, *, manager: str | None) -> bool:
    """Admins, as with a key; and the robot's manager with the role member, because an admin has named them."""
    manages = manager is not None and manager == member.member_id
    return member.role.covers(Role.ADMIN) or (manages and member.role.covers(Role.MEMBER))
