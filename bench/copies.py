"""Copies of finished runs: what a few real ones left in the stores, written again under other ids and instants."""

import asyncio
import re
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import bson
from bson.raw_bson import RawBSONDocument
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import WriteConcern

from rota_common.stores.mongo import Database, Document

PREFIX = "rota_"
SPREAD = timedelta(days=6)
"""The copies ended over so much time: nothing of a run is removed sooner."""

BATCH = 500
ID = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{32,64}(?![0-9a-f])"
)
TEXT_OF_INSTANT = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?=Z)")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NUMBER = struct.Struct("<q")
MS = timedelta(milliseconds=1)


@dataclass(frozen=True)
class Copy:
    """One run anew: `mask` makes its ids out of the first one's, `earlier` is how much sooner it was."""

    mask: int
    earlier: timedelta


class Template:
    """A document as bytes, cut where each copy differs: all stays as long as it is."""

    def __init__(self, document: Document, own: frozenset[bytes]) -> None:
        """`own`: the ids that belong to its run alone."""
        raw = bson.encode(document)
        made: dict[bytes, Callable[[Copy], bytes]] = {each: _id_maker(each) for each in own if each in raw}
        made |= {each: _text_maker(each) for each in set(TEXT_OF_INSTANT.findall(raw))}
        made |= {NUMBER.pack(_ms(each)): _number_maker(each) for each in _instants(document)}
        cuts = re.compile(b"(" + b"|".join(re.escape(each) for each in sorted(made, key=len, reverse=True)) + b")")
        parts = cuts.split(raw)
        self._fixed, self._makers = parts[::2], [made[each] for each in parts[1::2]]

    def copy(self, of: Copy) -> RawBSONDocument:
        varied = [b"", *(maker(of) for maker in self._makers)]
        return RawBSONDocument(b"".join(part for pair in zip(varied, self._fixed, strict=True) for part in pair))


def _id_maker(found: bytes) -> Callable[[Copy], bytes]:
    digits = found.replace(b"-", b"")
    value, width, dashed = int(digits, 16), len(digits), b"-" in found

    def make(of: Copy) -> bytes:
        new = f"{value ^ (of.mask >> (256 - 4 * width)):0{width}x}"
        return (f"{new[:8]}-{new[8:12]}-{new[12:16]}-{new[16:20]}-{new[20:]}" if dashed else new).encode()

    return make


def _text_maker(found: bytes) -> Callable[[Copy], bytes]:
    at = datetime.fromisoformat(found.decode())
    return lambda of: (at - of.earlier).isoformat(timespec="milliseconds").encode()


def _number_maker(at: datetime) -> Callable[[Copy], bytes]:
    return lambda of: NUMBER.pack(_ms(at - of.earlier))


def _ms(at: datetime) -> int:
    return (at.replace(tzinfo=UTC) - EPOCH) // MS


def _instants(value: Any) -> Iterator[datetime]:
    match value:
        case datetime():
            yield value
        case dict():
            yield from (found for each in value.values() for found in _instants(each))
        case list():
            yield from (found for each in value for found in _instants(each))


async def copy_runs(mongo_url: str, runs: Sequence[str], count: int, say: Callable[[str], None]) -> int:
    """Write `count` copies of these runs' documents into the stores; how many documents each has."""
    client: AsyncIOMotorClient[Document] = AsyncIOMotorClient(mongo_url, tz_aware=False)
    try:
        stores = [client[name] for name in await client.list_database_names() if name.startswith(PREFIX)]
        templates = await _templates(stores, runs)
        left = iter(range(count))
        await asyncio.gather(*(_write(client, templates, left, count, say) for _ in range(2)))
        await client.admin.command("fsync")
    finally:
        client.close()
    return len(templates[0])


Where = tuple[str, str]
"""A database and its collection."""


async def _templates(stores: Sequence[Database], runs: Sequence[str]) -> list[list[tuple[Where, Template]]]:
    """For each run what it alone has in the stores: documents that name it, under an id of their own."""
    held: dict[str, list[tuple[Where, Document]]] = {run: [] for run in runs}
    for store in stores:
        for name in await store.list_collection_names():
            async for document in store[name].find():
                for run in runs:
                    if run.encode() in bson.encode(document):
                        held[run].append(((store.name, name), document))
    ids = {run: {found for _, each in documents for found in _ids(each)} for run, documents in held.items()}
    runs_of = Counter(found for each in ids.values() for found in each)
    own = {run: frozenset(found for found in each if runs_of[found] == 1) for run, each in ids.items()}
    return [
        [(where, Template(each, own[run])) for where, each in documents if own[run] & _ids({"_id": each["_id"]})]
        for run, documents in held.items()
    ]


def _ids(document: Document) -> frozenset[bytes]:
    return frozenset(ID.findall(bson.encode(document)))


async def _write(
    client: AsyncIOMotorClient[Document],
    templates: Sequence[Sequence[tuple[Where, Template]]],
    left: Iterator[int],
    count: int,
    say: Callable[[str], None],
) -> None:
    batches: dict[Where, list[Any]] = {}

    async def flush() -> None:
        for (store, name), documents in batches.items():
            to = client[store].get_collection(name, write_concern=WriteConcern(w=1))
            await to.insert_many(documents, ordered=False)
        batches.clear()

    for number in left:
        of = Copy(secrets.randbits(256), SPREAD * (number + 1) / count)
        for where, template in templates[number % len(templates)]:
            batches.setdefault(where, []).append(template.copy(of))
        if max(map(len, batches.values())) >= BATCH:
            await flush()
        if (number + 1) % max(1, count // 20) == 0:
            say(f"{number + 1} of {count} runs copied")
    await flush()
