"""Roles: of API keys, of people, and of what a run does in their name."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a key, the least first: each includes the ones before it."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    def covers(self, needed: "Role") -> bool:
        return _ASCENDING.index(self) >= _ASCENDING.index(needed)


def least(*roles: Role) -> Role:
    """The one that includes the fewest others."""
    return min(roles, key=_ASCENDING.index)


_ASCENDING = tuple(Role)
