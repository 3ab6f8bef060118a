"""`rota agents files`: what a person has with an agent, which stands in that person's calls."""

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api
from rota.commands.files import below, content_of, file_table, print_file, write_file
from rota.deleting import YesFlag, delete
from rota.output import JsonFlag, say, say_json
from rota.running import with_api

app = typer.Typer(help="List, show, write and remove the files that you have with an agent.", no_args_is_help=True)

Agent = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
FileName = Annotated[str, typer.Argument(metavar="PATH", help="USER.md; with an open agent SOUL.md and others, too.")]
Member = Annotated[str, typer.Option(metavar="ID", help="For admins: the person. Default: that of the key.")]


@app.command("ls", epilog="Example: `rota agents files ls yao.keeper`")
def list_files(agent: Agent, member: Member = "", json: JsonFlag = False) -> None:
    """List the files that a person has with an agent."""
    found = with_api(lambda api: api.of_team("GET", _path(agent, member=member)))
    if json:
        say_json(found)
    elif not found["files"]:
        say(f"{found['member_id']} has no files with {agent}: rota agents files put {agent} USER.md FILE")
    else:
        file_table(found["files"])


@app.command(epilog="Example: `rota agents files cat yao.keeper USER.md`")
def cat(agent: Agent, path: FileName, member: Member = "", json: JsonFlag = False) -> None:
    """Print a file."""
    print_file(path, _path(agent, path, member=member), json=json)


@app.command(epilog="Example: `rota agents files put yao.keeper USER.md about-me.md`; without FILE from standard input")
def put(
    agent: Agent,
    path: FileName,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="A text file. Default: standard input.")] = None,
    member: Member = "",
    new: Annotated[bool, typer.Option("--new", help="Fail if there is such a file already.")] = False,
    json: JsonFlag = False,
) -> None:
    """Write a file; an existing one is replaced."""
    write_file(_path(agent, path, member=member), content_of(file), new=new, json=json)


@app.command(epilog="Example: `rota agents files rm yao.keeper USER.md --yes`")
def rm(agent: Agent, path: FileName, member: Member = "", yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Remove a file."""

    async def remove(api: Api) -> None:
        await api.of_team("DELETE", _path(agent, path, member=member))

    delete(remove, named={"path": path}, question=f"Remove {path} with {agent}?", yes=yes, json=json)


def _path(agent: str, path: str = "", *, member: str) -> str:
    files = f"/agents/{quote(agent, safe='')}/files"
    return f"{below(files, path)}?member={quote(member, safe='')}" if member else below(files, path)
