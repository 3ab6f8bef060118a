"""`rota kb`: the team's shared knowledge, which its robots read."""

from pathlib import Path
from typing import Annotated

import typer

from rota.api_error import ApiError
from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.text_splitter import Text, read_text
from rota_contracts.messages.memory import MAX_PARTS

AT_ONCE = 25
"""Parts per request: the gateway accepts 768 KB, and a part of 4,000 characters may have 16 KB."""

EXCERPT = 100
NOT_FOUND = 404

app = typer.Typer(help="Fill, search and clear the team's shared knowledge.", no_args_is_help=True)

Collection = Annotated[str, typer.Argument(help="The collection, as in kb.collections of robots.")]


@app.command(epilog="Example: `rota kb put sales-policies policies/*.md`")
def put(
    collection: Collection,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Text or markdown files.")],
    entry_id: Annotated[str, typer.Option("--id", help="The id, for one file. Default: the file's name.")] = "",
    json: JsonFlag = False,
) -> None:
    """Store files in a collection; an entry with the same id is replaced. Long files are split: ID#1, ID#2 …"""
    if entry_id and len(files) > 1:
        raise typer.BadParameter(f"expected one FILE with --id, got {len(files)}")
    texts = [read_text(path, entry_id) for path in files]
    names = [text.id for text in texts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        hint = "put them one by one, each with its own --id, or into different collections"
        raise CliError(f"expected files with different names, got {', '.join(twice)} more than once", hint=hint)

    async def store(api: Api) -> list[Json]:
        return [await _put(api, collection, text) for text in texts]

    for stored in with_api(store):
        if json:
            say_json(stored)
        else:
            say(
                f"{stored['id']}: stored in {collection}"
                + (f", in {stored['parts']} parts" if stored["parts"] > 1 else "")
            )


@app.command(epilog='Example: `rota kb search "who may give a discount?" --collection sales-policies`')
def search(
    query: Annotated[str, typer.Argument(help="The query; the search is by meaning.")],
    collection: Annotated[str, typer.Option(help="Only this collection.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of results.")] = 5,
    json: JsonFlag = False,
) -> None:
    """Search the team's collections as a run does, the best result first."""
    params: dict[str, str | int] = {"query": query, "limit": limit}
    if collection:
        params["collection"] = collection
    found = with_api(lambda api: api.search_knowledge(params))
    if json:
        say_json(found)
    elif not found:
        say("There is no shared knowledge yet: rota kb put COLLECTION FILE…")
    else:
        table(("SCORE", "COLLECTION", "ID", "TITLE", "TEXT"), [_row(each) for each in found])


@app.command(epilog="Example: `rota kb remove sales-policies discounts.md`, or `rota kb remove sales-policies`")
def remove(
    collection: Collection,
    entry_id: Annotated[str, typer.Argument(metavar="[ID]", help="One entry. Default: the whole collection.")] = "",
    json: JsonFlag = False,
) -> None:
    """Remove an entry with all its parts, or a whole collection."""

    async def remove_entries(api: Api) -> int:
        if not entry_id:
            return await api.remove_knowledge(collection)
        count = await _removed(api, collection, entry_id) + await _removed(api, collection, entry_id, parts_from=1)
        if not count:
            raise CliError(f"collection {collection} has no {entry_id}", hint='`rota kb search "…"` shows ids')
        return count

    count = with_api(remove_entries)
    if json:
        say_json({"collection": collection, "id": entry_id or None, "count": count})
    else:
        say(f"{collection}: {count} {'entry' if count == 1 else 'entries'} removed")


async def _put(api: Api, collection: str, text: Text) -> Json:
    """Store all parts, then remove the surplus parts of an earlier version: the entry is never missing in between."""
    entries = text.entries()
    for start in range(0, len(entries), AT_ONCE):
        await api.put_knowledge(collection, entries[start : start + AT_ONCE])
    count = len(entries)
    if count > 1:
        await _removed(api, collection, text.id)
    if count < MAX_PARTS:
        await _removed(api, collection, text.id, parts_from=count + 1 if count > 1 else 1)
    return {"collection": collection, "id": text.id, "parts": count}


async def _removed(api: Api, collection: str, entry_id: str, *, parts_from: int | None = None) -> int:
    """How many entries were removed, possibly none."""
    try:
        return await api.remove_knowledge(collection, entry_id, parts_from=parts_from)
    except ApiError as error:
        if error.status == NOT_FOUND:
            return 0
        raise


def _row(found: Json) -> tuple[object, ...]:
    entry = found["entry"]
    text = " ".join(entry["content"].split())
    return f"{found['score']:.2f}", entry["collection"], entry["id"], entry["title"], excerpt(text, EXCERPT)
