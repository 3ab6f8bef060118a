"""`rota feed-clients`: programs of a team that read its deliveries from NATS, each with a key and a position."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rota import context
from rota.context_files import write_private
from rota.errors import CliError
from rota.extras import server_extra
from rota.output import JsonFlag, say, say_json, table
from rota.running import run
from rota.timestamps import parse_past, utc_time
from rota_contracts.catalog import agent_subject

if TYPE_CHECKING:
    from rota_common.nats_admin.feed_client_admin import FeedClients

T = TypeVar("T")
app = typer.Typer(help="Manage the programs of a team that read its deliveries from NATS.", no_args_is_help=True)

Team = Annotated[str, typer.Argument(help="The team whose deliveries it reads. The team needs no robots yet.")]
Name = Annotated[str, typer.Argument(help="The program's name.")]
Config = Annotated[
    str,
    typer.Option(help="The folder of `rota nats-config`. Default: that of the running `rota up`.", metavar="FOLDER"),
]
SINCE = "2h or 7d ago, or 2026-03-02T09:00:00+01:00; the stream keeps 14 days."


@app.command(epilog="Example: `rota feed-clients add main crm`")
def add(
    team: Team,
    name: Name,
    since: Annotated[str, typer.Option(help=f"Start with the deliveries of then: {SINCE}")] = "",
    key_file: Annotated[Path | None, typer.Option(help="The file for its key. Default: NAME.nk here.")] = None,
    calls: Annotated[bool, typer.Option("--calls", help="It may call the team's agents, which costs.")] = False,
    config: Config = "",
    json: JsonFlag = False,
) -> None:
    """Add a feed client and create its key. NATS accepts it at once, and existing connections stay."""
    file, start = key_file or Path(f"{name}.nk"), parse_past(since) if since else None
    if file.exists():
        raise CliError(f"expected no file {file}, where the key would go", hint="choose another with --key-file")
    seed = _admin(config, lambda clients: clients.add(team, name, since=start, calls=calls))
    write_private(file, seed)
    if json:
        say_json({"team": team, "name": name, "key_file": str(file), "durable": f"{team}={name}", "calls": calls})
        return
    say(f"{team}/{name}: added. Its key is in {file}, and nowhere else.")
    say(f"  stream DELIVERIES, consumer {team}={name}, JetStream's API prefix rota.js; for example")
    if calls:
        say(f"  a call of an agent is a request on {agent_subject(team, 'AGENT')}")
    where = f"--url {context.load().nats_url} --team {team} --name {name} --key {file}"
    say(f"  python examples/subscribers/with_nats_py.py {where}")


@app.command("list", epilog="Example: `rota feed-clients list`, or `rota feed-clients list --team main`")
def listed(
    team: Annotated[str, typer.Option(help="Only this team's.")] = "", config: Config = "", json: JsonFlag = False
) -> None:
    """List the feed clients, and how many messages each has left to read."""
    found = _admin(config, lambda clients: clients.listed(team))
    if json:
        say_json([vars(one) for one in found])
    elif not found:
        say("There are no feed clients yet: rota feed-clients add TEAM NAME")
    else:
        table(found[0].COLUMNS, [one.row() for one in found])


@app.command(epilog="Example: `rota feed-clients remove main crm`")
def remove(team: Team, name: Name, config: Config = "", json: JsonFlag = False) -> None:
    """Revoke a feed client's key and delete its position."""
    _admin(config, lambda clients: clients.remove(team, name))
    say_json({"team": team, "name": name}) if json else say(f"{team}/{name}: removed")


def end_team(team: str, config: str) -> list[str]:
    """Revoke the keys of all feed clients of a removed team; their names."""
    return _admin(config, lambda clients: clients.remove_team(team))


@app.command(epilog="Example: `rota feed-clients rewind main crm --since 2d`")
def rewind(
    team: Team,
    name: Name,
    since: Annotated[str, typer.Option(help=SINCE)],
    config: Config = "",
    json: JsonFlag = False,
) -> None:
    """Move a feed client's position back: it reads all deliveries since then again. Its key stays."""
    start = parse_past(since)
    _admin(config, lambda clients: clients.rewind(team, name, since=start))
    if json:
        say_json({"team": team, "name": name, "since": start})
    else:
        say(f"{team}/{name}: reads again from {utc_time(start)} UTC on")


@app.command(epilog="Example: `rota feed-clients reload`")
def reload(config: Config = "", json: JsonFlag = False) -> None:
    """Make the NATS servers read their configuration again, after a change by other means than these commands."""
    count = _admin(config, lambda clients: clients.reload())
    say_json({"servers": count}) if json else say(f"{count} server{'' if count == 1 else 's'} reloaded")


def _admin(folder: str, use: Callable[["FeedClients"], Coroutine[Any, Any, T]]) -> T:
    """The result of `use` for the folder and the server of the context."""
    with server_extra("rota feed-clients"):
        from nats.errors import Error as NatsError

        from rota_common.nats_admin.config import Folder
        from rota_common.nats_admin.feed_client_admin import FeedClients, failure

    given = context.load()
    given.need("nats_url") if folder else given.need("nats_url", "nats_config")
    path = Path(folder or given.nats_config)
    if not (path / "accounts.json").exists():
        what = f"expected NATS's configuration in {path}: there is none"
        raise CliError(what, hint="`rota nats-config` writes it")
    try:
        return run(use(FeedClients(Folder(path), given.nats_url, given.nats_ca_file)))
    except (NatsError, OSError, TimeoutError) as error:
        what, hint = failure(given.nats_url, path, error)
        raise CliError(what, hint=hint) from error
    except ValueError as error:
        raise CliError(str(error), hint="`rota feed-clients --help` lists the commands") from error
