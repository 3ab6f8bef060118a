"""The connection to Qdrant: one collection for each kind of knowledge, and no search without a tenant."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
from qdrant_client.models import (
    Condition,
    DatetimeIndexParams,
    DatetimeIndexType,
    Distance,
    FieldCondition,
    Filter,
    FilterSelector,
    HnswConfigDiff,
    KeywordIndexParams,
    KeywordIndexType,
    MatchValue,
    PointStruct,
    QueryRequest,
    ScoredPoint,
    VectorParams,
)

from memory.ports import Vector
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger

TIMEOUT_S = 5
CONFLICT, TOO_MANY, SERVER_FAULT = 409, 429, 500


class Qdrant:
    """At `url`, opened by `api_key` if it asks for one, else in the folder `path`, else in this process. `open` before
    anything else.

    Every call raises Transient when the server is away.
    """

    def __init__(self, *, url: str = "", path: str = "", api_key: str = "", dimensions: int) -> None:
        self._url, self._path = url, path
        self._api_key = api_key
        self._dimensions = dimensions
        self._connection: AsyncQdrantClient | None = None

    async def open(self) -> None:
        """Connect; no request is sent yet."""
        if self._connection is None:
            self._connection = self._connect()

    async def ping(self) -> None:
        with _reaching():
            await self._client.get_collections()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def prepare(
        self, collection: str, *, tenants: Sequence[str], instants: Sequence[str] = (), words: Sequence[str] = ()
    ) -> None:
        """Make the collection if it isn't there; every search is for one value of one of the fields `tenants`, and may
        be narrowed by the fields `instants` and `words`.

        Raises Permanent if its vectors have another length.
        """
        with _reaching():
            if not await self._client.collection_exists(collection):
                await self._create(collection)
            if self._url:  # Qdrant's local mode has no indexes
                await self._index(collection, tenants, instants, words)
            vectors = (await self._client.get_collection(collection)).config.params.vectors
        if not isinstance(vectors, VectorParams) or vectors.size != self._dimensions:
            raise Permanent(
                f"expected the collection {collection} to hold vectors of {self._dimensions} numbers, got {vectors}: "
                "it was made for another embedder; delete it, or embed its entries again into a new one"
            )

    async def put(self, collection: str, points: Sequence[PointStruct]) -> None:
        with _reaching():
            await self._client.upsert(collection, points, wait=True)

    async def nearest(
        self,
        collection: str,
        vector: Vector,
        limit: int,
        tenants: Sequence[FieldCondition],
        *,
        also: Sequence[Condition] = (),
    ) -> list[ScoredPoint]:
        """The closest points of these tenants that meet the conditions `also`, best first.

        Each tenant has a graph of its own, so each is searched for itself: one search for several of them would
        begin in one graph and never reach the others.
        """
        searches = [
            QueryRequest(query=vector, filter=Filter(must=[tenant, *also]), limit=limit, with_payload=True)
            for tenant in tenants
        ]
        with _reaching():
            found = await self._client.query_batch_points(collection, searches)
        points = [point for answer in found for point in answer.points]
        return sorted(points, key=lambda point: -point.score)[:limit]

    async def delete(self, collection: str, those: Filter) -> int:
        """Delete these points; returns the count."""
        with _reaching():
            count = (await self._client.count(collection, count_filter=those, exact=True)).count
            if count:
                await self._client.delete(collection, FilterSelector(filter=those), wait=True)
        return count

    async def _create(self, collection: str) -> None:
        """One graph per tenant instead of one for all: no search goes across tenants."""
        try:
            await self._client.create_collection(
                collection,
                vectors_config=VectorParams(size=self._dimensions, distance=Distance.COSINE),
                hnsw_config=HnswConfigDiff(payload_m=16, m=0),
            )
        except UnexpectedResponse as error:
            if error.status_code != CONFLICT:  # else another replica was faster
                raise

    async def _index(
        self, collection: str, tenants: Sequence[str], instants: Sequence[str], words: Sequence[str]
    ) -> None:
        """At every start: it changes nothing if it is done; the replica that made the collection may have died."""
        index = KeywordIndexParams(type=KeywordIndexType.KEYWORD, is_tenant=True)
        for field in tenants:
            await self._client.create_payload_index(collection, field, field_schema=index, wait=True)
        age = DatetimeIndexParams(type=DatetimeIndexType.DATETIME, enable_hnsw=False)  # the graphs are the tenants'
        for field in instants:
            await self._client.create_payload_index(collection, field, field_schema=age, wait=True)
        word = KeywordIndexParams(type=KeywordIndexType.KEYWORD, enable_hnsw=False)
        for field in words:
            await self._client.create_payload_index(collection, field, field_schema=word, wait=True)

    def _connect(self) -> AsyncQdrantClient:
        if self._url:
            # The check would ask the server here and now, and wait for it.
            # A header, not `api_key`: that warns of plain HTTP at each start, and inside a cluster it is meant.
            headers = {"api-key": self._api_key} if self._api_key else {}
            return AsyncQdrantClient(url=self._url, timeout=TIMEOUT_S, headers=headers, check_compatibility=False)
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


def is_tenant(field: str, value: str) -> FieldCondition:
    return FieldCondition(key=field, match=MatchValue(value=value))


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
