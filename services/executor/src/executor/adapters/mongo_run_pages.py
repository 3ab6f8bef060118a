"""Pages of runs in MongoDB, newest first, by cursor: a long list costs no more than a short one."""

from executor.adapters.mongo_run_indexes import NEWEST, QUARANTINED_ID
from executor.adapters.mongo_run_queries import SUMMARY, summary
from executor.ports import COUNTED
from rota_common.page_cursor import PageCursor
from rota_common.stores.mongo import Collection, Document, behind
from rota_common.stores.set_aside import SetAside
from rota_contracts.messages.execution import ExecutionPage, ListExecutions
from rota_contracts.messages.quarantine import ListQuarantine, Quarantined, QuarantinePage


async def page_of(
    runs: Collection, aside: SetAside, wanted: ListExecutions, *, after: PageCursor | None
) -> ExecutionPage:
    """Without those that can't be read, which count all the same."""
    query = _matching(wanted)
    later = [] if after is None else [behind("created_at", after.at, after.item_id)]
    found = runs.find({"$and": [query, *later]}, {"created_at": 1, **SUMMARY}).sort(NEWEST)
    skipped = 0 if after else (wanted.page - 1) * wanted.page_size
    documents = await found.skip(skipped).limit(wanted.page_size).to_list(None)
    total = 0 if after else await runs.count_documents(query, limit=COUNTED)
    last = documents[-1] if len(documents) == wanted.page_size else None
    return ExecutionPage(
        executions=[each for document in documents if (each := await aside.read(document, summary)) is not None],
        total=total,
        page=wanted.page,
        page_size=wanted.page_size,
        next=PageCursor(last["created_at"], last["_id"]).text() if last else "",
        total_capped=total == COUNTED,
    )


async def quarantine_page_of(
    runs: Collection, aside: SetAside, wanted: ListQuarantine, *, after: PageCursor | None
) -> QuarantinePage:
    """Results in quarantine, run by run."""
    later = [] if after is None else [behind("created_at", after.at, after.item_id)]
    query = {"$and": [quarantined(wanted), *later]}
    found = runs.find(query, {"created_at": 1, "run.execution.quarantine": 1}).sort(NEWEST)
    documents = await found.limit(wanted.limit).to_list(None)
    last = documents[-1] if len(documents) == wanted.limit else None
    read = [held for document in documents if (held := await aside.read(document, _quarantine)) is not None]
    return QuarantinePage(
        results=[each for held in read for each in held if wanted.status in (None, each.status)],
        next=PageCursor(last["created_at"], last["_id"]).text() if last else "",
    )


def quarantined(wanted: ListQuarantine) -> Document:
    """Runs with wanted results in quarantine."""
    query: Document = {"team_id": wanted.team_id, QUARANTINED_ID: {"$exists": True}}
    if wanted.member_id is not None:
        query["member_id"] = wanted.member_id
    if wanted.execution_id is not None:
        query["_id"] = wanted.execution_id
    if wanted.status is not None:
        query["run.execution.quarantine.status"] = wanted.status
    return query


def _quarantine(document: Document) -> list[Quarantined]:
    return [Quarantined.model_validate(each) for each in document["run"]["execution"]["quarantine"]]


def _matching(wanted: ListExecutions) -> Document:
    query: Document = {"team_id": wanted.team_id}
    if wanted.member_id is not None:
        query["member_id"] = wanted.member_id
    if wanted.status is not None:
        query["status"] = wanted.status
        if wanted.status.over:  # as its index has it
            query["over_at"] = {"$type": "date"}
    return query
