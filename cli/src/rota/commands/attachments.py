"""`rota attachments`: files that go with results."""

import mimetypes
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal
from urllib.parse import quote, unquote

import httpx
import typer

from rota.client import Api, Json
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.running import with_api
from rota_contracts.messages.attachment import parse

CHUNK = 64 * 1024
UNKNOWN_TYPE = "application/octet-stream"
_EXACTLY, _PLAIN = re.compile(r"filename\*=UTF-8''([^;]+)"), re.compile(r'filename="([^"]*)"')

app = typer.Typer(help="Keep files that go with results, and get them back.", no_args_is_help=True)


@app.command(epilog="Example: `rota attachments put leads.csv`")
def put(
    file: Annotated[Path, typer.Argument(metavar="FILE")],
    name: Annotated[str, typer.Option(help="Its name for who receives it; FILE's own if not given.")] = "",
    content_type: Annotated[
        str, typer.Option("--type", help="Like text/csv; guessed from the name if not given.")
    ] = "",
    json: JsonFlag = False,
) -> None:
    """Keep a file for 90 days; what it is called in a result is told."""
    named = name or file.name
    kind = content_type or mimetypes.guess_type(named)[0] or UNKNOWN_TYPE

    async def keep(api: Api) -> Json:
        with _opened(file, "rb") as source:
            size = source.seek(0, 2)
            source.seek(0)

            async def chunks() -> AsyncIterator[bytes]:
                while chunk := source.read(CHUNK):
                    yield chunk

            headers = {"content-type": kind, "content-length": str(size)}
            return await api.of_team("POST", "/attachments", params={"name": named}, content=chunks(), headers=headers)

    kept = with_api(keep)
    if json:
        say_json(kept)
    else:
        say(f"{kept['name']}: kept, {kept['size']:,} bytes; in a result it is {kept['file']}")


@app.command(epilog="Example: `rota attachments get 0f3a…`")
def get(
    file_id: Annotated[str, typer.Argument(metavar="ID", help="The file's id, or what it is called in a result.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to; here, under its name.")] = None,
    json: JsonFlag = False,
) -> None:
    """Get a file back; one that is already here is never overwritten."""
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


async def _written(answer: httpx.Response, to: Path) -> int:
    """How many bytes it had."""
    size = 0
    with _new(to) as target:
        async for chunk in answer.aiter_bytes():
            size += target.write(chunk)
    return size


@contextmanager
def _new(path: Path) -> Iterator[BinaryIO]:
    """A file that isn't left there when it breaks off."""
    with _opened(path, "xb") as target:
        try:
            yield target
        except BaseException:
            path.unlink()
            raise


def _opened(path: Path, mode: Literal["rb", "xb"]) -> BinaryIO:
    try:
        return path.open(mode)
    except FileExistsError as error:
        raise CliError(f"{path} is already here", hint="--output says where else to put it") from error
    except OSError as error:
        raise CliError(f"can't open {path}: {error.strerror}") from error


def _name(answer: httpx.Response) -> str:
    """What the gateway says it is called, without any folder."""
    said = answer.headers.get("content-disposition", "")
    exactly, plain = _EXACTLY.search(said), _PLAIN.search(said)
    name = unquote(exactly[1]) if exactly else plain[1] if plain else ""
    return Path(name).name or "attachment"
