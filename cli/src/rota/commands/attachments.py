"""`rota attachments`: files attached to results."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO
from urllib.parse import quote, unquote

import httpx
import typer

from rota.client import Api
from rota.deleting import YesFlag, delete
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.uploads import opened, upload
from rota_contracts.messages.attachment import parse

_EXACTLY, _PLAIN = re.compile(r"filename\*=UTF-8''([^;]+)"), re.compile(r'filename="([^"]*)"')

FIELDS = ("created_at", "file_id", "name", "content_type", "size")

app = typer.Typer(help="List and store files that results can attach, and download them.", no_args_is_help=True)


@app.command(epilog="Example: `rota attachments put leads.csv`")
def put(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    name: Annotated[str, typer.Option(help="The name that receivers see. Default: FILE's name.")] = "",
    content_type: Annotated[
        str, typer.Option("--type", help="The content type, like text/csv. Default: by the name.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Store a file for 90 days and print its name for use in results."""
    stored = with_api(lambda api: upload(api, file, name=name, content_type=content_type))
    if json:
        say_json(stored)
    else:
        say(f"{stored['name']}: stored, {stored['size']:,} bytes; in a result it is {stored['file']}")


@app.command("list", epilog="Example: `rota attachments list`")
def list_files(
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of files.")] = 50,
    after: Annotated[str, typer.Option(help="Continue after the previous page, which shows the value.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the files that are kept, the newest first: uploaded ones, and those that runs have made."""
    params = {"limit": limit, "after": after}
    found = with_api(lambda api: api.of_team("GET", "/attachments", params=params))
    if json:
        say_json(found)
        return
    if found["attachments"]:
        columns = ("CREATED", "ID", "NAME", "TYPE", "BYTES")
        table(columns, [[one[field] for field in FIELDS] for one in found["attachments"]])
    else:
        say("No files are kept: rota attachments put FILE")
    if found["next"]:
        say(f"next page: --after {found['next']}")


@app.command(epilog="Example: `rota attachments get 0f3a…`")
def get(
    file_id: Annotated[str, typer.Argument(metavar="ID", help="The file's id, or its name in a result.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The new file. Default: its name.")] = None,
    json: JsonFlag = False,
) -> None:
    """Download a file. An existing file is never overwritten."""
    wanted = quote(parse(file_id).file_id, safe="")

    async def fetch(api: Api) -> tuple[Path, int]:
        async with api.download(f"/attachments/{wanted}") as answer:
            to = output or Path(_name(answer))
            return to, await _written(answer, to)

    to, size = with_api(fetch)
    if json:
        say_json({"file": str(to), "size": size})
    else:
        say(f"{to}: {size:,} bytes")


@app.command("delete", epilog="Example: `rota attachments delete 0f3a…`")
def delete_file(
    file_id: Annotated[str, typer.Argument(metavar="ID", help="The file's id, or its name in a result.")],
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Delete a file. Results that name it are delivered without it."""
    wanted = parse(file_id).file_id

    async def remove(api: Api) -> None:
        await api.of_team("DELETE", f"/attachments/{quote(wanted, safe='')}")

    delete(remove, named={"file_id": wanted}, question=f"Delete the file {wanted}?", yes=yes, json=json)


async def _written(answer: httpx.Response, to: Path) -> int:
    """Write the response to a new file; its size in bytes."""
    size = 0
    with _new(to) as target:
        async for chunk in answer.aiter_bytes():
            size += target.write(chunk)
    return size


@contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    """A new file, removed again if writing fails."""
    with opened(path, "xb") as target:
        try:
            yield target
        except BaseException:
            path.unlink()
            raise


def _name(answer: httpx.Response) -> str:
    """The file's name from the response, without any folder."""
    header = answer.headers.get("content-disposition", "")
    exactly, plain = _EXACTLY.search(header), _PLAIN.search(header)
    name = unquote(exactly[1]) if exactly else plain[1] if plain else ""
    return Path(name).name or "attachment"
