"""Documents that the last release stored: kept as files, and written again as a version before wrote them.

`ROTA_KEEP_DOCUMENTS=1 make upgrade-test`, after a release, keeps one of each kind, from before the first step.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

from bson.json_util import CANONICAL_JSON_OPTIONS, JSONOptions, dumps, loads
from motor.motor_asyncio import AsyncIOMotorClient

from rota.server.stored_forms import DATABASES
from rota_common.stores.mongo import Document
from rota_common.stores.stored_forms import field_of

STORED = Path(__file__).parent / "stored_by_0_2_0"
"""As MongoDB's extended JSON: `<database>.<collection>.json`."""

Change = Callable[[Document], Document]
OVER: Mapping[str, Document] = {"executions": {"over_at": {"$exists": True}}, "queue": {"live": {"$ne": True}}}
"""What may be written as it was before while it runs: nothing else writes it any more."""


def stored_documents() -> dict[tuple[str, str], list[Document]]:
    """By database and collection."""
    return {
        (file.stem.split(".")[0], file.stem.split(".")[1]): loads(
            file.read_text(), json_options=JSONOptions(tz_aware=True)
        )
        for file in sorted(STORED.glob("*.json"))
    }


def _object(place: str) -> Change:
    """What is JSON text was an object."""
    return lambda document: {"$set": {place: json.loads(field_of(document, place))}}


WRITTEN_BEFORE: Mapping[tuple[str, str, str], Change] = {
    ("gateway", "robots", "without their databases"): lambda _: {"$unset": {"databases": "", "form": ""}},
    ("scheduler", "queue", "with their trigger's input as an object"): _object("trigger.input"),
    ("scheduler", "plans", "with their item as an object"): _object("item"),
    ("executor", "executions", "with their robot as an object"): _object("run.robot"),
    ("executor", "executions", "with their trigger's input as an object"): _object("run.execution.trigger.input"),
}
"""The update that makes the older form, by name, of a document of the newer one."""


class StoredDocuments:
    """Those of a running Rota."""

    def __init__(self, mongo_url: str) -> None:
        self._client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(mongo_url, tz_aware=True)

    async def keep(self) -> None:
        """The newest of each kind, as a file."""
        STORED.mkdir(exist_ok=True)
        for database, forms in DATABASES.items():
            for collection, form in forms.items():
                found = self._of(database, collection).find(dict(form.where)).sort("$natural", -1)
                documents = await found.to_list(1)
                text = dumps(documents, json_options=CANONICAL_JSON_OPTIONS, indent=1)
                (STORED / f"{database}.{collection}.json").write_text(text + "\n")

    async def write_as_before(self, limit: int = 50) -> dict[tuple[str, str, str], int]:
        """Up to so many of each older form, and how many they are."""
        made = {}
        for (database, collection, what), older in WRITTEN_BEFORE.items():
            documents = self._of(database, collection)
            found = await documents.find(dict(OVER.get(collection, {}))).to_list(limit)
            for document in found:
                await documents.update_one({"_id": document["_id"]}, older(document))
            made[database, collection, what] = len(found)
        return made

    async def in_older_forms(self) -> dict[str, int]:
        """How many there are, by the form."""
        return {
            f"{database}.{collection} {older.what}": await self._of(database, collection).count_documents(
                dict(older.where)
            )
            for database, forms in DATABASES.items()
            for collection, form in forms.items()
            for older in form.older
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def _of(self, database: str, collection: str) -> Any:
        return self._client[f"rota_{database}"][collection]
