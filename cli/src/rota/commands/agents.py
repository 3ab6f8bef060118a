"""`rota agents`: who can be asked."""

from typing import Annotated

import typer

from rota.output import JsonFlag, excerpt, say, say_json, table
from rota.running import with_api
from rota.selection import parameters
from rota_contracts.messages.provider import AgentCard, AgentList

EXCERPT = 80
COLUMNS = ("ID", "NAME", "CONNECTOR", "MODES", "TAGS", "DESCRIPTION")

app = typer.Typer(help="List the agents that the team may use.", no_args_is_help=True)


@app.command("list", epilog="Example: `rota agents list --tags Data`")
def list_agents(
    tags: Annotated[str, typer.Option(help="Only those with all of these tags, with commas.")] = "",
    json: JsonFlag = False,
) -> None:
    """List the agents that the team may use: those of the operator's files, and the platform's own."""
    found = with_api(lambda api: api.of_team("GET", "/agents", params=parameters(tags=tags)))
    if json:
        say_json(found)
        return
    agents = AgentList.model_validate(found).agents
    if agents:
        table(COLUMNS, map(_row, agents))
    else:
        say(f"No agent has the tags {tags}.")


def _row(agent: AgentCard) -> tuple[object, ...]:
    name = "(built in)" if agent.built_in else agent.name
    modes, tags = ", ".join(agent.modes) or "-", ", ".join(agent.tags) or "-"
    return agent.id, name, agent.connector or "(default)", modes, tags, excerpt(agent.description, EXCERPT) or "-"
