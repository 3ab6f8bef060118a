"""A stand-in for a Qdrant server: what Rota uses of its HTTP interface, over the client library's own local mode.

`python -m tests.chaos.qdrant_server PORT FOLDER`. Points are in FOLDER before a request is answered, so that a kill
loses nothing that was confirmed. It has no indexes: those change nothing but times.
"""

import sys
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI
from qdrant_client import AsyncQdrantClient
from qdrant_client.models import (
    CountRequest,
    CreateCollection,
    CreateFieldIndex,
    FilterSelector,
    PointsList,
    QueryRequestBatch,
)

from rota_common.runtime.embedded_servers import EmbeddedServer, free_port

Json = dict[str, Any]


def qdrant_server(folder: Path) -> EmbeddedServer:
    port = free_port()
    url = f"http://127.0.0.1:{port}"

    async def ready() -> None:
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=2) as client:
                (await client.get(f"{url}/collections")).raise_for_status()
        except httpx.HTTPError as error:
            raise OSError(str(error)) from error

    command = [sys.executable, "-m", "tests.chaos.qdrant_server", str(port), str(folder / "points")]
    return EmbeddedServer("qdrant", command, folder=folder, url=url, ready=ready)


class StandIn:
    """Each method is a route: it takes what the server takes, and returns the `result` of its answer."""

    def __init__(self, client: AsyncQdrantClient) -> None:
        self._client = client

    async def collections(self) -> Json:
        return _result((await self._client.get_collections()).model_dump(mode="json"))

    async def exists(self, name: str) -> Json:
        return _result({"exists": await self._client.collection_exists(name)})

    async def collection(self, name: str) -> Json:
        return _result((await self._client.get_collection(name)).model_dump(mode="json"))

    async def create(self, name: str, wanted: CreateCollection) -> Json:
        return _result(await self._client.create_collection(name, vectors_config=wanted.vectors))

    async def index(self, name: str, wanted: CreateFieldIndex) -> Json:
        return _DONE

    async def upsert(self, name: str, given: PointsList) -> Json:
        await self._client.upsert(name, given.points)
        return _DONE

    async def query(self, name: str, asked: QueryRequestBatch) -> Json:
        answers = await self._client.query_batch_points(name, asked.searches)
        return _result([answer.model_dump(mode="json") for answer in answers])

    async def count(self, name: str, asked: CountRequest) -> Json:
        return _result((await self._client.count(name, asked.filter)).model_dump(mode="json"))

    async def delete(self, name: str, those: FilterSelector) -> Json:
        await self._client.delete(name, those)
        return _DONE

    def app(self) -> FastAPI:
        served, one = FastAPI(), "/collections/{name}"
        for method, path, route in (
            ("GET", "/collections", self.collections),
            ("GET", f"{one}/exists", self.exists),
            ("GET", one, self.collection),
            ("PUT", one, self.create),
            ("PUT", f"{one}/index", self.index),
            ("PUT", f"{one}/points", self.upsert),
            ("POST", f"{one}/points/query/batch", self.query),
            ("POST", f"{one}/points/count", self.count),
            ("POST", f"{one}/points/delete", self.delete),
        ):
            served.add_api_route(path, route, methods=[method])
        return served


def _result(value: Any) -> Json:
    return {"result": value, "status": "ok", "time": 0.0}


_DONE = _result({"operation_id": 0, "status": "completed"})


def main() -> None:
    port, folder = int(sys.argv[1]), sys.argv[2]
    uvicorn.run(StandIn(AsyncQdrantClient(path=folder)).app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
