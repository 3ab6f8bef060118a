"""`rota definitions`: a team's own agents, connectors, MCP servers and skills, and their history."""

from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api
from rota.deleting import YesFlag, delete
from rota.history import show, written_at
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota.yaml_core import dump
from rota_contracts.definitions.definition import DefinitionKind

COLUMNS = ("KIND", "ID", "REV", "WRITTEN (UTC)", "BY")

app = typer.Typer(
    help="List the team's own agents, connectors, MCP servers and skills; show one, its history, or delete one.",
    no_args_is_help=True,
)

Kind = Annotated[DefinitionKind, typer.Argument(case_sensitive=False, help="Agent, Connector, MCPServer or Skill.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As in `rota definitions list`.")]


def path_of(kind: DefinitionKind, definition_id: str) -> str:
    return f"/definitions/{kind.value}/{quote(definition_id, safe='')}"


@app.command("list", epilog="Example: `rota definitions list --kind Agent`")
def list_definitions(
    kind: Annotated[DefinitionKind | None, typer.Option(case_sensitive=False, help="Only these.")] = None,
    json: JsonFlag = False,
) -> None:
    """List the team's own definitions. `rota agents list` and `rota connectors list` show the platform's too."""
    found = with_api(lambda api: api.of_team("GET", "/definitions", params=parameters(kind=kind)))
    if json:
        say_json(found)
        return
    if rows := found["definitions"]:
        table(COLUMNS, [(each["kind"], each["id"], each["rev"], written_at(each), each["written_by"]) for each in rows])
    else:
        say("The team has none of its own: `rota apply -f` makes them.")
    if canary := found["canary"]:
        say(f"Revision {canary['rev']} is a canary with {canary['share']} % of new runs: see `rota canary show`.")


@app.command("show", epilog="Example: `rota definitions show Agent experts.writer`")
def show_definition(
    kind: Kind,
    definition_id: Id,
    rev: Annotated[int | None, typer.Option(min=1, help="A revision of its history.")] = None,
    json: JsonFlag = False,
) -> None:
    """Print a definition as `rota apply` takes it."""
    params = {"rev": str(rev)} if rev else {}
    found = with_api(lambda api: api.of_team("GET", path_of(kind, definition_id), params=params))
    if json:
        say_json(found)
    else:
        say(dump({"kind": found["kind"], "id": found["id"], **found["spec"]}))


@app.command("history", epilog="Example: `rota definitions history Agent experts.writer`")
def show_history(kind: Kind, definition_id: Id, json: JsonFlag = False) -> None:
    """List the revisions of a definition, the newest first."""
    show(path_of(kind, definition_id), json=json)


@app.command("delete", epilog="Example: `rota definitions delete Connector fast`")
def delete_definition(kind: Kind, definition_id: Id, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Delete a definition. Runs that began with it go on with it; `rota rollback` brings it back."""

    async def remove(api: Api) -> None:
        await api.of_team("DELETE", path_of(kind, definition_id))

    named = {"kind": kind.value, "id": definition_id}
    delete(remove, named=named, question=f"Delete {kind.value} {definition_id}?", yes=yes, json=json)
