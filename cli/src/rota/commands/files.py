"""`rota files`: the files of a robot, which it keeps from run to run."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.deleting import YesFlag, delete
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List, show, write and remove the files of a robot.", no_args_is_help=True)

Robot = Annotated[str, typer.Argument(metavar="ROBOT", help="The robot's member_id.")]
FilePath = Annotated[str, typer.Argument(metavar="PATH", help="The file's path, like memory/2026-11-23.md.")]


@app.command("ls", epilog="Example: `rota files ls lead-processor memory`")
def list_files(
    robot: Robot,
    folder: Annotated[str, typer.Argument(metavar="[FOLDER]", help="Only the files below it.")] = "",
    json: JsonFlag = False,
) -> None:
    """List a robot's files."""
    params = {"folder": folder} if folder else {}
    found = with_api(lambda api: api.of_team("GET", _path(robot), params=params))["files"]
    if json:
        say_json(found)
    elif not found:
        say(f"{robot} has no files{f' below {folder}' if folder else ''}: rota files put {robot} PATH FILE")
    else:
        file_table(found)


@app.command(epilog="Example: `rota files cat lead-processor memory/2026-11-23.md`")
def cat(robot: Robot, path: FilePath, json: JsonFlag = False) -> None:
    """Print a file."""

    print_file(path, _path(robot, path), json=json)


@app.command(epilog="Example: `rota files put lead-processor plan.md plan.md`; without FILE from standard input")
def put(
    robot: Robot,
    path: FilePath,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A text file. Default: standard input.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Fail if the robot has such a file already.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write a file of a robot; an existing one is replaced."""
    write_file(_path(robot, path), content_of(file), new=new, json=json)


@app.command(epilog="Example: `rota files rm lead-processor plan.md --yes`")
def rm(robot: Robot, path: FilePath, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Remove a file of a robot."""

    async def remove(api: Api) -> None:
        await api.of_team("DELETE", _path(robot, path))

    delete(remove, named={"path": path}, question=f"Remove {path} of {robot}?", yes=yes, json=json)


def file_table(files: Sequence[Json]) -> None:
    rows = [(one["path"], f"{one['size']:,}", one["revision"], one["updated_at"]) for one in files]
    table(("PATH", "BYTES", "REVISION", "CHANGED"), rows)


def print_file(path: str, address: str, *, json: bool) -> None:
    async def fetch(api: Api) -> str:
        async with api.download(address) as answer:
            return (await answer.aread()).decode()

    content = with_api(fetch)
    if json:
        say_json({"path": path, "content": content})
    else:
        sys.stdout.write(content)


def write_file(address: str, content: bytes, *, new: bool, json: bool) -> None:
    """`new`: fail if there is such a file."""
    headers = {"content-type": "text/plain; charset=utf-8", **({"if-none-match": "*"} if new else {})}
    done = with_api(lambda api: api.of_team("PUT", address, content=content, headers=headers))
    if json:
        say_json(done)
    else:
        say(f"{done['path']}: written, {done['size']:,} bytes, revision {done['revision']}")


def content_of(file: Path | None) -> bytes:
    if file is None:
        return sys.stdin.buffer.read()
    try:
        return file.expanduser().read_bytes()
    except OSError as error:
        raise CliError(f"can't read {file}: {error.strerror}", hint="expected a text file") from error


def _path(robot: str, path: str = "") -> str:
    return below(f"/robots/{quote(robot, safe='')}/files", path)


def below(files: str, path: str) -> str:
    """Dots are quoted as well, because a client would resolve them before the gateway can refuse them."""
    parts = [quote(part, safe="") if part.strip(".") else part.replace(".", "%2E") for part in path.split("/")]
    return f"{files}/{'/'.join(parts)}" if path else files
