"""The audit trail: who changed what, newest first."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from rota_contracts.messages.audit import AuditRecordedV1
from rota_contracts.model import Name
from trigger_gateway.audit.entry import AuditEntry, AuditMark, fact_of
from trigger_gateway.http.auth_routes import admin_router, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid

router = team_router("audit")
admin = admin_router("audit")

Limit = Annotated[int, Query(ge=1, le=1000)]
After = Annotated[str, Query(max_length=200, description="`next` of the page before")]


class AuditPage(BaseModel):
    """Continue with `after` = `next`, until `next` is empty."""

    entries: list[AuditRecordedV1]
    next: str = Field(description="empty on the last page")


@router.get("/audit", summary="List who changed what of the team, newest first")
async def read_audit(team: Name, use: UseCasesDep, limit: Limit = 100, after: After = "") -> AuditPage:
    """Names of what was changed and of the fields that were given, never their values."""
    return _page(await use.audit.page(team, after=_mark(after), limit=limit + 1), limit)


@admin.get("/audit", summary="List who changed what, of all teams and of the platform, newest first")
async def read_all_audit(use: UseCasesDep, limit: Limit = 100, after: After = "") -> AuditPage:
    return _page(await use.audit.page(None, after=_mark(after), limit=limit + 1), limit)


def _mark(text: str) -> AuditMark | None:
    try:
        return AuditMark.parse(text) if text else None
    except ValueError as error:
        problem = FieldProblem("after", "expected `next` of the page before")
        raise Invalid("invalid_request", "the request is not valid", fields=[problem]) from error


def _page(found: Sequence[AuditEntry], limit: int) -> AuditPage:
    shown = found[:limit]
    more = str(AuditMark(shown[-1].at, shown[-1].audit_id)) if len(found) > limit else ""
    return AuditPage(entries=[fact_of(each) for each in shown], next=more)
