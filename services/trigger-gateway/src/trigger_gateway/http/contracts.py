"""The contracts for clients: the channels of the bus and the schemas of their messages. Public: they hold no secret."""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel
from pydantic_core import to_json

from rota_contracts import version
from rota_contracts.tooling.asyncapi import asyncapi
from rota_contracts.tooling.feed_asyncapi import feed_asyncapi
from rota_contracts.tooling.schemas import schemas
from trigger_gateway.http.auth_routes import open_router
from trigger_gateway.problems import NotFound

router = open_router("contracts", prefix="")

FRESH_S = 300
"""Seconds; they change only with the version."""

JSON, ASYNCAPI, SCHEMA = "application/json", "application/vnd.aai.asyncapi+json", "application/schema+json"
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Unchanged since If-None-Match"}}


@dataclass(frozen=True)
class Document:
    content: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, value: Any, media_type: str) -> "Document":
        content = to_json(value)
        return cls(content, media_type, f'"{sha256(content).hexdigest()[:32]}"')


class SchemaLink(BaseModel):
    name: str
    url: str


class SchemaIndex(BaseModel):
    schemas: list[SchemaLink]


@router.get(
    "/asyncapi",
    summary="Read the AsyncAPI 3.0 document of the bus: channels, retention, messages",
    response_class=Response,
    responses=UNCHANGED | {200: {"content": {ASYNCAPI: {"schema": {"type": "object"}}}}},
)
def read_asyncapi(request: Request) -> Response:
    return _answer(request, _asyncapi())


@router.get(
    "/asyncapi/feed",
    summary="Read the AsyncAPI 3.0 document of the feed: what a feed client may read, and how it connects",
    response_class=Response,
    responses=UNCHANGED | {200: {"content": {ASYNCAPI: {"schema": {"type": "object"}}}}},
)
def read_feed_asyncapi(request: Request) -> Response:
    return _answer(request, _feed_asyncapi())


@router.get(
    "/schemas", summary="List the JSON Schemas of all messages", response_model=SchemaIndex, responses=UNCHANGED
)
def list_schemas(request: Request) -> Response:
    return _answer(request, _index())


@router.get(
    "/schemas/{name:path}",
    summary="Read a JSON Schema",
    response_class=Response,
    responses=UNCHANGED | {200: {"content": {SCHEMA: {"schema": {"type": "object"}}}}},
)
def read_schema(name: str, request: Request) -> Response:
    found = _schemas().get(name)
    if found is None:
        raise NotFound("schema_not_found", f"there is no schema {name[:200]!r}: /schemas lists them")
    return _answer(request, found)


def _answer(request: Request, document: Document) -> Response:
    headers = {"etag": document.etag, "cache-control": f"public, max-age={FRESH_S}"}
    if {document.etag, "*"} & _known(request):
        return Response(status_code=304, headers=headers)
    return Response(document.content, media_type=document.media_type, headers=headers)


def _known(request: Request) -> set[str]:
    given = request.headers.get("if-none-match", "")
    return {tag.strip().removeprefix("W/") for tag in given.split(",")}


@cache
def _asyncapi() -> Document:
    return Document.of(asyncapi(version.VERSION), ASYNCAPI)


@cache
def _feed_asyncapi() -> Document:
    return Document.of(feed_asyncapi(), ASYNCAPI)


@cache
def _schemas() -> dict[str, Document]:
    return {name: Document.of(schema, SCHEMA) for name, schema in schemas().items()}


@cache
def _index() -> Document:
    links = [SchemaLink(name=name, url=f"/schemas/{name}") for name in sorted(_schemas())]
    return Document.of(SchemaIndex(schemas=links), JSON)
