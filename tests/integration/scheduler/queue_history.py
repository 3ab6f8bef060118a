"""Every state that the scheduler's queue was in, as the database's own log has it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bson import Timestamp
from pymongo import MongoClient

from rota_contracts.ids import derived_id
from scheduler.domain.queue import EntryState
from scheduler.domain.robot_summary import Key

SLOT = (EntryState.ADMITTED, EntryState.RUNNING)
END = derived_id("the history's end")


class History:
    """From its making on. A change stream shows a transaction's changes one by one, all with the transaction's instant:
    a reader sees what holds between two instants."""

    def __init__(self, url: str, database: str) -> None:
        self._url, self._database = url, database
        with MongoClient[dict[str, Any]](url) as client:
            self._since: Timestamp = client.admin.command("ping")["operationTime"]
        self.states: dict[str, EntryState] = {}
        self._robots: dict[str, Key] = {}

    def holding(self) -> Iterator[Mapping[Key, int]]:
        """How many slots each robot holds, after each change. Reads the log to its end, and blocks while it does."""
        held, at = Counter[Key](), None
        for change in self._changes():
            if at is not None and change["clusterTime"] != at:
                yield held
            at = change["clusterTime"]
            self._count(change, held)
        yield held

    def _count(self, change: dict[str, Any], held: Counter[Key]) -> None:
        name, new = change["documentKey"]["_id"], change.get("fullDocument")
        if new is not None:
            self._robots[name] = new["team"], new["member"]
        state = (new or change["updateDescription"]["updatedFields"]).get("state")
        if state is None:
            return
        held[self._robots[name]] += (state in SLOT) - (self.states.get(name) in SLOT)
        self.states[name] = EntryState(state)

    def _changes(self) -> Iterator[dict[str, Any]]:
        with MongoClient[dict[str, Any]](self._url) as client:
            database = client[self._database]
            database["history"].insert_one({"_id": END})
            names = {"ns.coll": {"$in": ["queue", "history"]}, "operationType": {"$in": ["insert", "update"]}}
            pipeline: list[dict[str, Any]] = [{"$match": names}, {"$unset": "fullDocument.trigger"}]
            with database.watch(pipeline, start_at_operation_time=self._since, batch_size=5000) as stream:
                for change in stream:
                    if change["documentKey"]["_id"] == END:
                        return
                    yield change
