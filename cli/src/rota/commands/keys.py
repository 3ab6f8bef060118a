"""`rota keys`: the team's API keys, each with a role."""

from typing import Annotated

import typer

from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota_contracts.roles import Role

app = typer.Typer(help="List the team's API keys, create one, or delete one.", invoke_without_command=True)


ROLES = "viewer: reads; member: also runs and instructs robots; admin: also changes them; owner: also creates keys."


@app.callback(epilog="Example: `rota keys`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's API keys, without their secrets; create one, or delete one."""
    if context.invoked_subcommand is not None:
        return
    keys = with_api(lambda api: api.keys())
    if json:
        say_json(keys)
    else:
        rows = [
            (key["key_id"], key.get("role"), key.get("name"), key.get("member_id") or "-", key["created_at"])
            for key in keys
        ]
        table(("KEY", "ROLE", "NAME", "PERSON", "CREATED"), rows)


@app.command(epilog="Example: `rota keys create --role viewer --name dashboard`")
def create(
    role: Annotated[Role, typer.Option(help=ROLES)],
    name: Annotated[str, typer.Option(help="The holder; also the name of their subscriptions.")] = "",
    member: Annotated[str, typer.Option(metavar="ID", help="The person who calls agents with it.")] = "",
    json: JsonFlag = False,
) -> None:
    """Create a key. It is shown only once."""
    created = with_api(lambda api: api.create_key(role.value, name, member=member))
    if json:
        say_json(created)
        return
    say(f"{created['key_id']}: created, role {role}; it is shown only now:")
    say(created["api_key"])


@app.command(epilog="Example: `rota keys delete 5f1e… --yes`, the id as in `rota keys`")
def delete(
    key_id: Annotated[str, typer.Argument(help="As in `rota keys`.")],
    yes: YesFlag = False,
    json: JsonFlag = False,
) -> None:
    """Delete a key: it stops working at once."""
    question = f"Delete the key {key_id}?"
    delete_it(lambda api: api.delete_key(key_id), named={"key_id": key_id}, question=question, yes=yes, json=json)
