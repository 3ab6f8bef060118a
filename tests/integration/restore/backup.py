"""A backup and its restore, with what the tools of deploy/k8s/components/backup do where those tools aren't at hand.

MongoDB is read at one point in time by a snapshot session, as `mongodump --oplog` has it; streams by the requests that
`nats stream backup` and `restore` send; the memory's folder stands for the snapshots of a Qdrant server.
"""

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nats
from bson.raw_bson import RawBSONDocument
from nats.aio.client import Client
from pymongo import MongoClient

from rota_contracts.streams import BACKED_UP, BACKED_UP_FIRST

CHUNK = 128 * 1024
TIMEOUT_S = 10.0


@dataclass
class Backup:
    """`collections`: documents and indexes, by database and collection; `streams`: description and content."""

    folder: Path
    collections: dict[tuple[str, str], tuple[list[RawBSONDocument], list[dict[str, Any]]]] = field(default_factory=dict)
    streams: dict[str, tuple[dict[str, Any], bytes]] = field(default_factory=dict)


async def take(folder: Path, *, nats_url: str, mongo_url: str, qdrant: Path) -> Backup:
    """In the order of the CronJob."""
    backup = Backup(folder)
    client = await nats.connect(nats_url)
    for name in BACKED_UP_FIRST:
        backup.streams[name] = await _stream(client, name)
    _dump(mongo_url, backup)
    for name in BACKED_UP:
        backup.streams[name] = await _stream(client, name)
    await client.close()
    shutil.copytree(qdrant, folder / "qdrant")
    return backup


async def restore(backup: Backup, *, nats_url: str, mongo_url: str, qdrant: Path) -> None:
    """Into servers that hold nothing, before the topology."""
    mongo: MongoClient[RawBSONDocument] = MongoClient(mongo_url, document_class=RawBSONDocument)
    for (database, collection), (documents, indexes) in backup.collections.items():
        mongo[database].command("createIndexes", collection, indexes=indexes)
        if documents:
            mongo[database][collection].insert_many(documents)
    mongo.close()
    client = await nats.connect(nats_url)
    for name, (described, content) in backup.streams.items():
        await _restore_stream(client, name, described, content)
    await client.close()
    shutil.copytree(backup.folder / "qdrant", qdrant)


def _dump(url: str, backup: Backup) -> None:
    client: MongoClient[Any] = MongoClient(url)
    raw: MongoClient[RawBSONDocument] = MongoClient(url, document_class=RawBSONDocument)
    with client, raw, raw.start_session(snapshot=True) as session:
        for database in set(client.list_database_names()) - {"admin", "config", "local"}:
            for collection in client[database].list_collection_names():
                indexes = [index.to_dict() for index in client[database][collection].list_indexes()]
                documents = list(raw[database][collection].find({}, session=session))
                backup.collections[database, collection] = documents, indexes


async def _asked(client: Client, subject: str, request: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads((await client.request(subject, json.dumps(request).encode(), TIMEOUT_S)).data)
    assert "error" not in answer, answer
    return answer


async def _stream(client: Client, name: str) -> tuple[dict[str, Any], bytes]:
    inbox, content = client.new_inbox(), b""
    chunks = await client.subscribe(inbox)
    wanted = {"deliver_subject": inbox, "chunk_size": CHUNK}
    described = await _asked(client, f"$JS.API.STREAM.SNAPSHOT.{name}", wanted)
    while (chunk := await chunks.next_msg(TIMEOUT_S)).data:
        content += chunk.data
        if chunk.reply:
            await chunk.respond(b"")
    return {"config": described["config"], "state": described["state"]}, content


async def _restore_stream(client: Client, name: str, described: dict[str, Any], content: bytes) -> None:
    to = (await _asked(client, f"$JS.API.STREAM.RESTORE.{name}", described))["deliver_subject"]
    for start in range(0, len(content), CHUNK):
        await client.request(to, content[start : start + CHUNK], TIMEOUT_S)
    end = json.loads((await client.request(to, b"", TIMEOUT_S)).data)
    assert "error" not in end, end
