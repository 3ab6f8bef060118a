"""`rota sources`: the webhook senders a team listens to."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api

app = typer.Typer(help="List the team's webhook sources, or add one.", invoke_without_command=True)


@app.callback(epilog="Example: `rota sources`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's webhook sources, or add one."""
    if context.invoked_subcommand is not None:
        return
    sources = with_api(lambda api: api.sources())
    if json:
        say_json(sources)
    elif not sources:
        say("This team has no webhook sources yet: rota sources add leads --secret '$ENV.LEADS_SECRET'")
    else:
        table(("NAME", "SECRET"), [(source["name"], source.get("secret")) for source in sources])


@app.command(epilog="Example: `rota sources add leads --secret '$ENV.LEADS_SECRET'`")
def add(
    name: Annotated[str, typer.Argument(help="What robots call it: events[].source /webhook/NAME.")],
    secret: Annotated[
        str, typer.Option(help="Where the signing secret is: $ENV.VARIABLE, a variable of the gateway's process.")
    ],
    json: JsonFlag = False,
) -> None:
    """Accept webhooks of a new sender at /v1/hooks/TEAM/NAME, signed with this secret."""
    added = with_api(lambda api: api.add_source(name, secret))
    if json:
        say_json(added)
    else:
        say(f"{name}: added")
