"""Approvals in MongoDB: they stand in the documents of their runs."""

from executor.adapters.approval_pages import asked_at
from executor.adapters.mongo_run_queries import UNDER_WAY
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Collection, Document
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.approval import Approval, ApprovalPage, ApprovalStatus, ListApprovals

APPROVAL_ID = "run.approvals.approval_id"
PENDING = {"run.approvals.status": ApprovalStatus.PENDING.value}
FIELDS = {name: f"$run.approvals.{name}" for name in Approval.model_fields}


async def pending_page(
    runs: Collection, aside: SetAside, wanted: ListApprovals, *, after: PageCursor | None
) -> ApprovalPage:
    """An approval that can't be read is left out."""
    stages: list[Document] = [
        {"$match": {**_of(wanted), **PENDING, "status": {"$in": UNDER_WAY}, **aside.readable}},
        {"$project": {"run.approvals": 1}},
        {"$unwind": "$run.approvals"},
        {"$match": PENDING},
        {"$project": {"approval": FIELDS, "at": {"$toDate": "$run.approvals.asked_at"}}},
        *([{"$match": _behind(after)}] if after else []),
        {"$sort": {"at": 1, "approval.approval_id": 1}},
        {"$limit": wanted.limit + 1},
    ]
    found = [each async for each in aside.readable_of(runs.aggregate(stages), _approval)]
    page = found[: wanted.limit]
    more = len(found) > wanted.limit
    return ApprovalPage(approvals=page, cursor=asked_at(page[-1]).text() if more else None)


def _of(wanted: ListApprovals) -> Document:
    mine = {"team_id": wanted.team_id, "member_id": wanted.member_id, "_id": wanted.execution_id}
    return {name: value for name, value in mine.items() if value is not None}


def _behind(cursor: PageCursor) -> Document:
    same_instant = {"at": cursor.at, "approval.approval_id": {"$gt": cursor.item_id}}
    return {"$or": [{"at": {"$gt": cursor.at}}, same_instant]}


def _approval(document: Document) -> Approval:
    return Approval.model_validate(document["approval"])
