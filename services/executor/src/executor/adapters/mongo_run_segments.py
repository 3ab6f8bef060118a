"""Segments of long runs in MongoDB: the older part of a run, in documents of its own that never change.

MongoDB writes a whole document with each change of it, so that of a run stays small. It names its segments in
`segments`, oldest first. Each holds what the journal was then, and `parts` of the conversations (`mongo_run_parts`).

A segment is stored first, under an id of its own; the write that drops its content from the run names it. One that no
run names is left of a worker that was killed or fenced between the two, and is never read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pymongo import ASCENDING

from executor.adapters.mongo_run_indexes import LEFT_FOR
from rota_common.runtime.logs import logger
from rota_common.stores.mongo import NOW, OUTAGES, Database, Document, remove_after

SEGMENT_BYTES = 64 * 1024
"""Size of the journal in a run's document from which on it moves; most runs never get there."""

LONGER = timedelta(days=1)
"""What is left of them is removed so much later than any run, so that none is read without them."""

_log = logger(service="executor")


class MongoRunSegments:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._segments, self._runs = database["execution_segments"], database["executions"]

    async def prepare(self, *, keep: timedelta) -> None:
        """Make the indexes, and let segments end that a killed worker has left."""
        await self._segments.create_index([("run_id", ASCENDING)])
        await remove_after(self._database, "execution_segments", "over_at", keep + LEFT_FOR + LONGER)
        unended = self._segments.aggregate([{"$match": {"over_at": None}}, {"$group": {"_id": "$run_id"}}])
        async for found in unended:
            run = await self._runs.find_one({"_id": found["_id"]}, {"over_at": 1})
            if run is None or run.get("over_at") is not None:
                await self._end(found["_id"], NOW if run is None else run["over_at"])

    async def with_parts(self, document: Document) -> Document:
        """A run's document with the parts that its segments hold, if there are any, as `read`."""
        return await self._with(document, "parts")

    async def with_journal(self, document: Document) -> Document:
        return await self._with(document, "journal")

    async def _with(self, document: Document, field: str) -> Document:
        names = document.get("segments")
        if not names:
            return document
        found = {each["_id"]: each async for each in self._segments.find({"_id": {"$in": names}}, {field: 1})}
        return document | {"read": [found.get(name, {}) for name in names]}

    async def store(self, run_id: str, epoch: int, parts: Mapping[str, Any], *, name: str) -> bool:
        """Store these parts and the journal, as the run's document has it within this claim. False if it can't be
        done now: the run's own write goes without, and shows whether the claim is over."""
        try:
            document = await self._runs.find_one({"_id": run_id, "epoch": epoch}, {"journal": 1})
            if document is None:
                return False
            values = [{"at": at, "value": value} for at, value in parts.items()]
            segment = {"_id": name, "run_id": run_id, "journal": document["journal"], "parts": values}
            await self._segments.insert_one(segment)
        except OUTAGES as error:
            _log.warning("a segment isn't stored now", execution_id=run_id, reason=str(error))
            return False
        return True

    async def remove(self, run_ids: Sequence[str]) -> None:
        """After their runs."""
        await self._segments.delete_many({"run_id": {"$in": [*run_ids]}})

    async def end(self, run_id: str, at: datetime) -> None:
        """The run is over: its segments are removed after it. Where the server is away, `prepare` does it later."""
        try:
            await self._end(run_id, at)
        except OUTAGES as error:
            _log.warning("segments end later", execution_id=run_id, reason=str(error))

    async def _end(self, run_id: str, at: datetime | str) -> None:
        await self._segments.update_many({"run_id": run_id}, [{"$set": {"over_at": at}}])
