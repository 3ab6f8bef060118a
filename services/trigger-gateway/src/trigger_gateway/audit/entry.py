"""Entries of the audit trail, and what of a request goes into one: names, never values. No I/O."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from rota_contracts.messages.audit import UNKNOWN_STATUS, AuditRecordedV1
from rota_contracts.model import ALL, NAME_PATTERN

ADMINISTRATOR = "administrator"
UNAUDITED = frozenset({"trigger", "call_agent", "mcp", "a2a", "check_clock", "replay_execution"})
"""Routes of other methods than GET that change nothing, or that leave a record of their own with each call: a run, its
cost, or the entry of the change that a tool makes."""

NAMES = (
    *("member_id", "rev", "key_id", "role", "name", "file_id", "replay_id", "execution_id", "retry_of", "team_id"),
    *("subject", "approval_id", "tool", "decision"),
)
"""Fields of answers that name what was changed."""

FIELDS_SHOWN, NAME_SHOWN = 20, 200


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """`status` is that of the answer; UNKNOWN_STATUS while the request is handled, and for ever when it broke off."""

    audit_id: str
    team: str
    at: datetime
    by: str
    by_name: str
    role: str
    action: str
    on: Mapping[str, str] = field(default_factory=dict)
    status: int = UNKNOWN_STATUS
    request_id: str = ""
    address: str = ""


@dataclass(frozen=True)
class AuditMark:
    """A place in the trail, which is read from the newest entry to the oldest."""

    at: datetime
    audit_id: str

    @classmethod
    def parse(cls, text: str) -> "AuditMark":
        """Raises ValueError."""
        at, _, audit_id = text.partition("~")
        if not audit_id:
            raise ValueError("expected a mark as `next` gave it")
        return cls(datetime.fromisoformat(at), audit_id)

    def __str__(self) -> str:
        return f"{self.at.isoformat()}~{self.audit_id}"


def fact_of(entry: AuditEntry) -> AuditRecordedV1:
    member = entry.on.get("member_id", ALL)
    return AuditRecordedV1(
        team_id=entry.team,
        member_id=member if re.match(NAME_PATTERN, member) else ALL,
        audit_id=entry.audit_id,
        at=entry.at,
        by=entry.by,
        by_name=entry.by_name,
        role=entry.role,
        action=entry.action,
        on=dict(entry.on),
        status=entry.status,
        request_id=entry.request_id,
        address=entry.address,
    )


def _definitions(answer: Mapping[str, Any]) -> dict[str, str]:
    """Those that a change of a team's definitions has changed."""
    each = answer.get("definitions")
    if not isinstance(each, list):
        return {}
    changed = [f"{one['kind']}/{one['id']}" for one in each if one.get("outcome", "unchanged") != "unchanged"]
    return {"definitions": ", ".join(changed)} if changed else {}


def names_of(path: Mapping[str, Any], given: Any, answer: Any) -> dict[str, str]:
    """What a request changed: the names in its path, the fields of its body, the names in its answer."""
    found = {name: value for name, value in path.items() if name != "team"}
    if isinstance(answer, dict):
        found |= {name: answer[name] for name in NAMES if isinstance(answer.get(name), (str, int))}
        found |= _definitions(answer)
    if "member" in found:
        found["member_id"] = found.pop("member")
    if isinstance(given, dict) and given:
        found["fields"] = ", ".join(sorted(given)[:FIELDS_SHOWN])
    return {name: str(value)[:NAME_SHOWN] for name, value in found.items()}
