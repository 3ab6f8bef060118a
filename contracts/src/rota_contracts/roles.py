"""Roles of API keys."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a key, the least first: each includes the ones before it."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"

    def covers(self, needed: "Role") -> bool:
        return _ASCENDING.index(self) >= _ASCENDING.index(needed)


_ASCENDING = tuple(Role)
