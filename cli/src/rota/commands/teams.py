"""`rota teams`: the teams of a Rota, with the administrator's key."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlsplit

import typer

from rota import context as contexts
from rota import context_files
from rota.commands import feed_clients
from rota.deleting import YesFlag
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import utc_text

app = typer.Typer(help="List the teams, create or remove one (needs the admin key).", invoke_without_command=True)


@app.callback(epilog="Example: `ROTA_URL=http://localhost:8080 ROTA_ADMIN_KEY=… rota teams`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the teams, create or remove one (needs the admin key: ROTA_ADMIN_KEY, or that of `rota up`)."""
    if context.invoked_subcommand is not None:
        return
    teams = with_api(lambda api: api.teams(), admin=True)
    if json:
        say_json(teams)
    elif not teams:
        say("There are no teams yet: rota teams create main --use")
    else:
        table(("TEAM", "NAME"), [(team["team_id"], team["name"]) for team in teams])


@app.command(epilog="Example: `ROTA_URL=http://localhost:8080 ROTA_ADMIN_KEY=… rota teams create main --use`")
def create(
    team: Annotated[str, typer.Argument(help="Its id: letters, digits, - and _.")],
    name: Annotated[str, typer.Option(help="Its name, for people.")] = "",
    use: Annotated[bool, typer.Option("--use", help="Let the commands on this machine act for this team.")] = False,
    json: JsonFlag = False,
) -> None:
    """Create a team and its first key, of the role owner. The key is shown only once."""
    created = with_api(lambda api: api.create_team(team, name), admin=True)
    name = _use(team, str(created["api_key"])) if use else ""
    if json:
        say_json(created)
        return
    say(f"{created['team_id']}: created; its key, of the role owner, is shown only now:")
    say(created["api_key"])
    if use:
        say(f"{context_files.context_file(name)}: the commands act for {team} now (context {name})")


@app.command(epilog="Example: `ROTA_URL=http://localhost:8080 ROTA_ADMIN_KEY=… rota teams remove acme`")
def remove(
    team: Annotated[str, typer.Argument(help="Its id.")],
    yes: YesFlag = False,
    config: feed_clients.Config = "",
    json: JsonFlag = False,
) -> None:
    """Remove a team and all that is kept of it, for ever: robots, runs, results, secrets, knowledge, keys.

    Its feed clients end too, where the folder with NATS's configuration is on this machine.
    """
    if not yes and typer.prompt(f"All of {team} is removed, for ever. Type its id to go on", err=True) != team:
        raise CliError(f"expected the id {team}: nothing is removed", hint="`rota teams` lists the teams")
    removed = with_api(lambda api: api.remove_team(team), admin=True)
    folder = config or contexts.load().nats_config
    ended = feed_clients.end_team(team, folder) if folder else []
    if json:
        say_json({**removed, "feed_clients": ended})
        return
    free = utc_text(removed["name_free_at"])
    say(f"{team}: removed. What is kept of it goes within minutes; its id is free from {free} on")
    if ended:
        say(f"  its feed clients have ended: {', '.join(ended)}")
    elif not folder:
        say(f"  had it feed clients? They end with rota teams remove {team} --yes --config FOLDER")


def _use(team: str, api_key: str) -> str:
    """The name of the context, the current one from now on. Another Rota than the context's gets a context of its own,
    without anything that a variable holds but its address."""
    url, name = contexts.load().url, contexts.selected()
    here = contexts.saved(name)
    if here.url != url:
        name = context_files.name_of(urlsplit(url).netloc.rpartition("@")[2])
        known = contexts.saved(name)
        here = known if known.url == url else contexts.Context(url=url)
    contexts.save(replace(here, team=team, api_key=api_key), name)
    context_files.use(name)
    return name
