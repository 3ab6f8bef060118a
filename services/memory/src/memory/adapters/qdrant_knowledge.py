"""Knowledge in Qdrant: one collection for all robots, each entry with its owner's key, and no search without one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from qdrant_client.models import (
    Distance,
    FieldCondition,
    Filter,
    FilterSelector,
    HasIdCondition,
    HnswConfigDiff,
    KeywordIndexParams,
    KeywordIndexType,
    MatchValue,
    PointStruct,
    Range,
    VectorParams,
)

from memory.domain import Owner
from memory.ports import Vector
from rota_common.errors import Permanent, Transient
from rota_common.logs import logger
from rota_contracts.ids import derived_id
from rota_contracts.memory import MemoryEntry, RecalledEntry

COLLECTION = "lessons"
TIMEOUT_S = 5
CONFLICT, TOO_MANY, SERVER_FAULT = 409, 429, 500


class QdrantKnowledge:
    """At `url`, else in the folder `path`, else in this process. `open` before anything else."""

    def __init__(self, *, url: str = "", path: str = "", dimensions: int) -> None:
        self._url, self._path, self._dimensions = url, path, dimensions
        self._connection: AsyncQdrantClient | None = None

    async def open(self) -> None:
        """Connect, and make the collection if it isn't there. Raises Permanent if its vectors have another length."""
        if self._connection is None:
            self._connection = self._connect()
        with _reaching():
            if not await self._client.collection_exists(COLLECTION):
                await self._create()
            vectors = (await self._client.get_collection(COLLECTION)).config.params.vectors
        if not isinstance(vectors, VectorParams) or vectors.size != self._dimensions:
            raise Permanent(
                f"expected the collection {COLLECTION} to hold vectors of {self._dimensions} numbers, got {vectors}: "
                "it was made for another embedder; delete it, or embed its entries again into a new one"
            )

    async def ping(self) -> None:
        with _reaching():
            await self._client.collection_exists(COLLECTION)

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def keep(self, owner: Owner, entries: Sequence[tuple[MemoryEntry, Vector]], *, rev: int) -> None:
        points = [
            PointStruct(
                id=_point(owner, entry.id),
                vector=vector,
                payload={"tenant": owner.tenant, "rev": rev, **entry.model_dump(mode="json")},
            )
            for entry, vector in entries
        ]
        with _reaching():
            await self._client.upsert(COLLECTION, points, wait=True)

    async def nearest(self, owner: Owner, vector: Vector, limit: int) -> list[RecalledEntry]:
        with _reaching():
            found = await self._client.query_points(
                COLLECTION, query=vector, query_filter=Filter(must=[_of(owner)]), limit=limit, with_payload=True
            )
        return [
            RecalledEntry(entry=MemoryEntry.model_validate(point.payload), score=point.score) for point in found.points
        ]

    async def remove(self, owner: Owner, ids: Sequence[str]) -> int:
        return await self._delete(Filter(must=[_of(owner), HasIdCondition(has_id=[_point(owner, one) for one in ids])]))

    async def clear(self, owner: Owner, *, up_to_rev: int | None = None) -> int:
        if up_to_rev is None:
            return await self._delete(Filter(must=[_of(owner)]))
        return await self._delete(Filter(must=[_of(owner), FieldCondition(key="rev", range=Range(lte=up_to_rev))]))

    async def _delete(self, those: Filter) -> int:
        with _reaching():
            count = (await self._client.count(COLLECTION, count_filter=those, exact=True)).count
            if count:
                await self._client.delete(COLLECTION, FilterSelector(filter=those), wait=True)
        return count

    async def _create(self) -> None:
        """One graph per owner instead of one for all: nobody ever searches across owners."""
        try:
            await self._client.create_collection(
                COLLECTION,
                vectors_config=VectorParams(size=self._dimensions, distance=Distance.COSINE),
                hnsw_config=HnswConfigDiff(payload_m=16, m=0),
            )
        except UnexpectedResponse as error:
            if error.status_code != CONFLICT:  # else another replica was faster
                raise
        if self._url:  # Qdrant's local mode has no indexes
            index = KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True)
            await self._client.create_payload_index(COLLECTION, "tenant", field_schema=index, wait=True)

    def _connect(self) -> AsyncQdrantClient:
        if self._url:
            # The check would ask the server here and now, and wait for it.
            return AsyncQdrantClient(url=self._url, timeout=TIMEOUT_S, check_compatibility=False)
        if self._path:
            return AsyncQdrantClient(path=self._path)
        logger(service="memory").warning(
            "knowledge is kept in this process only: set ROTA_QDRANT_URL or ROTA_QDRANT_PATH"
        )
        return AsyncQdrantClient(location=":memory:")

    @property
    def _client(self) -> AsyncQdrantClient:
        if self._connection is None:
            raise Transient("not connected to Qdrant yet")
        return self._connection


@contextmanager
def _reaching() -> Iterator[None]:
    """Qdrant's errors as ours; a refused request is a bug and stays what it is."""
    try:
        yield
    except ResponseHandlingException as error:
        raise Transient(f"Qdrant can't be reached: {error}") from error
    except UnexpectedResponse as error:
        if error.status_code is None or error.status_code == TOO_MANY or error.status_code >= SERVER_FAULT:
            raise Transient(f"Qdrant can't answer now: {error}") from error
        raise


def _of(owner: Owner) -> FieldCondition:
    return FieldCondition(key="tenant", match=MatchValue(value=owner.tenant))


def _point(owner: Owner, entry_id: str) -> str:
    return derived_id("entry", owner.team, owner.member, entry_id)
