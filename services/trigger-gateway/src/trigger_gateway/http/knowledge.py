"""A team's shared knowledge: collections of texts that its robots receive."""

from typing import Annotated

from fastapi import Path, Query
from pydantic import Field

from rota_contracts.catalog import SEARCH_SHARED, SHARE, UNSHARE
from rota_contracts.messages.memory import (
    MAX_PARTS,
    ForgetReply,
    SearchShared,
    SearchSharedReply,
    Share,
    SharedEntry,
    ShareReply,
    Unshare,
    part_id,
)
from rota_contracts.model import Name
from trigger_gateway import rpc
from trigger_gateway.http.auth_routes import team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.problems import FieldProblem, Invalid, NotFound
from trigger_gateway.strict import Strict
from trigger_gateway.use_cases import UseCases

router = team_router("knowledge")

AT_ONCE = 100

EntryId = Annotated[str, Path(min_length=1, max_length=200)]


class Knowledge(Strict):
    title: str = Field(default="", max_length=500)
    content: str = Field(min_length=1, max_length=20_000)


class NamedKnowledge(Knowledge):
    id: str = Field(min_length=1, max_length=200)


class Bulk(Strict):
    entries: list[NamedKnowledge] = Field(min_length=1, max_length=AT_ONCE)


@router.put("/kb/{collection}/{entry_id:path}", summary="Store an entry; an existing one of this id is replaced")
async def put_entry(team: Name, collection: Name, entry_id: EntryId, body: Knowledge, use: UseCasesDep) -> ShareReply:
    return await _share(use, team, collection, [NamedKnowledge(id=entry_id, title=body.title, content=body.content)])


@router.post("/kb/{collection}", summary=f"Store up to {AT_ONCE} entries; existing ones of the same ids are replaced")
async def put_entries(team: Name, collection: Name, body: Bulk, use: UseCasesDep) -> ShareReply:
    ids = [entry.id for entry in body.entries]
    twice = [number for number, one in enumerate(ids) if one in ids[:number]]
    if twice:
        fields = [FieldProblem(f"entries.{number}.id", f"{ids[number]!r} occurs before") for number in twice]
        raise Invalid(
            "duplicate_ids", "expected each id once: the later entry would replace the earlier one", fields=fields
        )
    return await _share(use, team, collection, body.entries)


@router.delete("/kb/{collection}/{entry_id:path}", summary="Remove an entry, or the parts that it was stored in")
async def remove_entry(
    team: Name,
    collection: Name,
    entry_id: EntryId,
    use: UseCasesDep,
    parts_from: Annotated[
        int | None, Query(ge=1, le=MAX_PARTS, description="n: remove the parts ID#n and all after it instead")
    ] = None,
) -> ForgetReply:
    ids = [entry_id]
    if parts_from is not None:
        ids = [part_id(entry_id, number) for number in range(parts_from, MAX_PARTS + 1)]
    removed = await rpc.call(use.ask, UNSHARE, Unshare(team_id=team, collection=collection, ids=ids))
    if removed.count == 0:
        what = f"entry {entry_id}" if parts_from is None else f"part of {entry_id} from {parts_from} on"
        raise NotFound("entry_not_found", f"collection {collection} of team {team} has no {what}")
    return removed


@router.delete("/kb/{collection}", summary="Remove a whole collection")
async def remove_collection(team: Name, collection: Name, use: UseCasesDep) -> ForgetReply:
    removed = await rpc.call(use.ask, UNSHARE, Unshare(team_id=team, collection=collection))
    if removed.count == 0:
        raise NotFound("collection_not_found", f"team {team} has no collection {collection}, or it is empty")
    return removed


@router.get("/kb", summary="Search all collections, or one, by meaning, best match first")
async def search(
    team: Name,
    use: UseCasesDep,
    query: Annotated[str, Query(min_length=1, max_length=2_000)],
    collection: Name | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 5,
) -> SearchSharedReply:
    collections = [collection] if collection else []
    return await rpc.call(
        use.ask, SEARCH_SHARED, SearchShared(team_id=team, query=query, collections=collections, limit=limit)
    )


async def _share(use: UseCases, team: str, collection: str, entries: list[NamedKnowledge]) -> ShareReply:
    now = use.clock()
    kept = [
        SharedEntry(collection=collection, id=each.id, title=each.title, content=each.content, updated_at=now)
        for each in entries
    ]
    return await rpc.call(use.ask, SHARE, Share(team_id=team, entries=kept))
