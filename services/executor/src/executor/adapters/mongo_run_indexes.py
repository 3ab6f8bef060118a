"""The indexes of runs in MongoDB, and the end of those that are over."""

import contextlib
from datetime import timedelta

from pymongo import ASCENDING, DESCENDING
from pymongo.errors import OperationFailure

from executor.adapters.mongo_run_approvals import APPROVAL_ID, PENDING
from executor.adapters.mongo_run_queries import BY_CLOCK, FINISHED_AT, OVER, UNDER_WAY
from rota_common.stores.mongo import Collection, Database, remove_after

CALLBACK_ID = "run.callbacks.id"
QUARANTINED_ID = "run.execution.quarantine.quarantine_id"
NEWEST = [("created_at", DESCENDING), ("_id", DESCENDING)]
OLD_INDEXES = {"team_id_1_created_at_-1", "team_id_1_member_id_1_created_at_-1"}
KEPT_FOR = timedelta(days=90)
GIVEN_UP_KEPT_S = 31 * 86400
"""Longer than dead letters are kept, which may be sent back."""

LEFT_FOR = timedelta(days=10)
"""Runs that no executor has removed for so long beyond their time are removed by MongoDB."""


async def make_indexes(database: Database, *, keep: timedelta) -> None:
    """Making them again changes nothing but `keep`."""
    runs = database["executions"]
    await runs.create_index([("team_id", ASCENDING), *NEWEST], name="of_team")
    await runs.create_index([("team_id", ASCENDING), ("member_id", ASCENDING), *NEWEST], name="of_robot")
    for instant in ("due_at", "deadline_at", "expires_at"):
        await runs.create_index(instant, partialFilterExpression={instant: {"$type": "date"}})
    await runs.create_index("given_up_at", expireAfterSeconds=GIVEN_UP_KEPT_S, sparse=True)
    called = {CALLBACK_ID: {"$exists": True}}
    await runs.create_index([(CALLBACK_ID, ASCENDING)], partialFilterExpression=called)
    held = {QUARANTINED_ID: {"$exists": True}}
    await runs.create_index([(QUARANTINED_ID, ASCENDING)], name="by_quarantined", partialFilterExpression=held)
    await runs.create_index([("team_id", ASCENDING), *NEWEST], name="quarantine", partialFilterExpression=held)
    approved = {APPROVAL_ID: {"$exists": True}}
    await runs.create_index([(APPROVAL_ID, ASCENDING)], partialFilterExpression=approved)
    await runs.create_index([("team_id", ASCENDING)], name="to_approve", partialFilterExpression=PENDING)
    alive = [("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", ASCENDING)]
    clocks = [("team_id", ASCENDING), ("member_id", ASCENDING), ("created_at", DESCENDING)]
    await runs.create_index(clocks, name="by_clock", partialFilterExpression=BY_CLOCK)
    ended = [("team_id", ASCENDING), ("member_id", ASCENDING), (FINISHED_AT, DESCENDING)]
    await runs.create_index(ended, partialFilterExpression={FINISHED_AT: {"$type": "string"}})
    under_way = {"status": {"$in": UNDER_WAY}}
    await runs.create_index(alive, name="under_way", partialFilterExpression=under_way)
    waiting = {"run.ceiling": {"$type": "object"}}
    await runs.create_index("created_at", name="at_ceiling", partialFilterExpression=waiting)
    of_status = [("team_id", ASCENDING), ("status", ASCENDING), *NEWEST]
    await runs.create_index(of_status, name="of_status", partialFilterExpression={"over_at": {"$type": "date"}})
    await _after_earlier_versions(runs)
    await remove_after(database, "executions", "over_at", keep + LEFT_FOR)


async def _after_earlier_versions(runs: Collection) -> None:
    """Their runs have no `over_at`, and two of their indexes have another's beginning."""
    known = await runs.index_information()
    if "kept" not in known:
        over = {"status": {"$in": OVER}, "over_at": None}
        await runs.update_many(over, [{"$set": {"over_at": {"$toDate": f"${FINISHED_AT}"}}}])
    for name in OLD_INDEXES.intersection(known):
        with contextlib.suppress(OperationFailure):  # another replica has just dropped it
            await runs.drop_index(name)
