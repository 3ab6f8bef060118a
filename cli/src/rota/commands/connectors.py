"""`rota connectors`: which models there are."""

from typing import Annotated

import typer

from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota_contracts.messages.provider import Capability, Provider, ProviderList

COLUMNS = ("ID", "MODEL", "CAN", "USABLE")

app = typer.Typer(
    help="List the connectors that the team may use, and what the model of each can.", no_args_is_help=True
)


@app.command("list", epilog="Example: `rota connectors list --filters tool_calls,vision`")
def list_connectors(
    filters: Annotated[
        str, typer.Option(help=f"Only those that can all of this, with commas: {', '.join(Capability)}.")
    ] = "",
    agent: Annotated[str, typer.Option(metavar="ID", help="Only those that this agent offers its callers.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the connectors that the team may use. * is the default one."""
    wanted = parameters(filters=filters, agent=agent)
    found = with_api(lambda api: api.of_team("GET", "/llm/providers", params=wanted))
    if json:
        say_json(found)
        return
    providers = ProviderList.model_validate(found).providers
    if providers:
        table(COLUMNS, map(_row, providers))
    else:
        say("No connector can all of this.")


def _row(provider: Provider) -> tuple[object, ...]:
    can = [name if value is True else f"{name} ({value})" for name, value in provider.capabilities.items() if value]
    usable = provider.problem or "yes"
    return f"{provider.id}{'*' if provider.default else ''}", provider.model or "-", ", ".join(can), usable
