"""Sums of what runs have spent, and of how they have ended, in MongoDB."""

from typing import Any

from rota_common.stores.mongo import Collection, Document
from rota_contracts.messages.definition import CountRuns, RunCount, RunCounts
from rota_contracts.messages.execution import ExecStatus
from rota_contracts.messages.spend import ReadSpend, SpendBy, SpendReply, SpendRow
from rota_contracts.messages.trigger import ExecutorMode
from rota_contracts.messages.usage import DIGITS

USAGE = "run.execution.usage"
KEYS = {
    SpendBy.ROBOT: "$member_id",
    SpendBy.AGENT: f"${USAGE}.shares.agent",
    SpendBy.MODEL: f"${USAGE}.shares.model",
    SpendBy.DAY: f"${USAGE}.shares.day",
}
SUMS = ("tokens_in", "tokens_out", "tokens_cached", "calls", "cost")
LONGEST_MS = 20_000


async def spend_of(runs: Collection, wanted: ReadSpend, *, limit: int) -> SpendReply:
    of_team: Document = {"team_id": wanted.team_id, "created_at": {"$gte": wanted.since}}
    if wanted.member_id is not None:
        of_team["member_id"] = wanted.member_id
    group: Document = {"_id": {str(by): KEYS[by] for by in wanted.by} | {"currency": f"${USAGE}.shares.currency"}}
    group |= {name: {"$sum": f"${USAGE}.shares.{name}"} for name in SUMS}
    rows: list[Document] = [
        {"$unwind": f"${USAGE}.shares"},
        {"$group": group},
        {"$sort": {"cost": -1, "tokens_in": -1, "_id": 1}},
        {"$limit": limit + 1_000},
    ]
    unpriced = [{"$group": {"_id": None, "calls": {"$sum": f"${USAGE}.unpriced"}}}]
    few = {"member_id": 1, f"{USAGE}.shares": 1, f"{USAGE}.unpriced": 1}
    pipeline = [{"$match": of_team}, {"$project": few}, {"$facet": {"rows": rows, "unpriced": unpriced}}]
    found = await runs.aggregate(pipeline, allowDiskUse=True, maxTimeMS=LONGEST_MS).to_list(1)
    listed = found[0]["rows"]
    return SpendReply(
        rows=[_row(each) for each in listed[:limit]],
        unpriced=sum(each["calls"] for each in found[0]["unpriced"]),
        left_out=max(len(listed) - limit, 0),
    )


async def counts_of(runs: Collection, wanted: CountRuns) -> RunCounts:
    matched: Document = {
        "team_id": wanted.team_id,
        "created_at": {"$gte": wanted.since},
        "run.execution.executor_mode": {"$in": [ExecutorMode.STANDARD, None]},
    }
    rev: Any = {"$ifNull": ["$run.definitions_rev", 0]}
    if wanted.member_id is not None:
        matched["member_id"] = wanted.member_id
        rev = "$run.execution.robot_rev"
    shares: Document = {"$ifNull": [f"${USAGE}.shares", []]}
    few = {"rev": rev, "status": 1, "shares": shares}
    ended: list[Document] = [{"$group": {"_id": {"rev": "$rev", "status": "$status"}, "runs": {"$sum": 1}}}]
    key, total = {"rev": "$rev", "currency": "$shares.currency"}, {"$sum": "$shares.cost"}
    spent: list[Document] = [{"$unwind": "$shares"}, {"$group": {"_id": key, "cost": total}}]
    facets: Document = {"$facet": {"ended": ended, "spent": spent}}
    pipeline = [{"$match": matched}, {"$project": few}, {"$match": {"rev": {"$in": wanted.revs}}}, facets]
    (found,) = await runs.aggregate(pipeline, allowDiskUse=True, maxTimeMS=LONGEST_MS).to_list(1)
    ends = {(each["_id"]["rev"], each["_id"]["status"]): each["runs"] for each in found["ended"]}
    return RunCounts(
        counts=[
            RunCount(
                rev=one,
                runs=sum(runs for (of, _), runs in ends.items() if of == one),
                completed=ends.get((one, ExecStatus.COMPLETED), 0),
                failed=ends.get((one, ExecStatus.FAILED), 0),
                cost={
                    each["_id"]["currency"]: round(each["cost"], DIGITS)
                    for each in found["spent"]
                    if each["_id"]["rev"] == one and each["cost"]
                },
            )
            for one in wanted.revs
        ]
    )


def _row(found: dict[str, Any]) -> SpendRow:
    sums = {name: found[name] for name in SUMS}
    return SpendRow(**{**found["_id"], **sums, "cost": round(found["cost"], DIGITS)})
