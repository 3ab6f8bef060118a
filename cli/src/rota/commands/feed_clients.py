"""`rota subscribers`: programs of a team that read its deliveries from NATS, each with a key and a place of its own."""

from collections.abc import Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from rota import context
from rota.context import write_private
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, table
from rota.running import run
from rota.timestamps import ago

if TYPE_CHECKING:
    from rota_common.nats_admin.feed_client_admin import Subscribers

T = TypeVar("T")
app = typer.Typer(help="Let programs of a team read its deliveries from NATS.", no_args_is_help=True)

Team = Annotated[str, typer.Argument(help="Whose deliveries. It need not have any robots yet.")]
Name = Annotated[str, typer.Argument(help="What the program is called.")]
Config = Annotated[
    str,
    typer.Option(help="The folder of `rota nats-config`. Default: that of the running `rota up`.", metavar="FOLDER"),
]
SINCE = "2h or 7d ago, or 2026-03-02T09:00:00+01:00; the stream keeps 14 days."


@app.command(epilog="Example: `rota subscribers add main crm`")
def add(
    team: Team,
    name: Name,
    since: Annotated[str, typer.Option(help=f"Let it begin with what was delivered then: {SINCE}")] = "",
    key_file: Annotated[Path | None, typer.Option(help="Where its key goes. Default: NAME.nk here.")] = None,
    config: Config = "",
    json: JsonFlag = False,
) -> None:
    """Make a subscriber, with its key. NATS takes it at once, and everybody stays connected."""
    file, start = key_file or Path(f"{name}.nk"), _instant(since)
    if file.exists():
        raise CliError(f"expected no file {file}, where the key would go", hint="choose another with --key-file")
    seed = _with(config, lambda subscribers: subscribers.add(team, name, since=start))
    write_private(file, seed)
    if json:
        say_json({"team": team, "name": name, "key_file": str(file), "durable": f"{team}={name}"})
        return
    say(f"{team}/{name}: added. Its key is in {file}, and nowhere else.")
    say(f"  stream DELIVERIES, consumer {team}={name}, JetStream's API prefix rota.js: see examples/subscribers")


@app.command("list", epilog="Example: `rota subscribers list`, or `rota subscribers list --team main`")
def listed(
    team: Annotated[str, typer.Option(help="Only this team's.")] = "", config: Config = "", json: JsonFlag = False
) -> None:
    """List the subscribers, and how much each has left to read."""
    found = _with(config, lambda subscribers: subscribers.listed(team))
    if json:
        say_json([vars(one) for one in found])
    elif not found:
        say("There are no subscribers yet: rota subscribers add TEAM NAME")
    else:
        rows = [(one.team, one.name, _count(one.waiting), _count(one.unacknowledged)) for one in found]
        table(("TEAM", "NAME", "WAITING", "UNACKNOWLEDGED"), rows)


@app.command(epilog="Example: `rota subscribers remove main crm`")
def remove(team: Team, name: Name, config: Config = "", json: JsonFlag = False) -> None:
    """Take its key from a subscriber, and forget how far it has read."""
    _with(config, lambda subscribers: subscribers.remove(team, name))
    say_json({"team": team, "name": name}) if json else say(f"{team}/{name}: removed")


@app.command(epilog="Example: `rota subscribers rewind main crm --since 2d`")
def rewind(
    team: Team,
    name: Name,
    since: Annotated[str, typer.Option(help=SINCE)],
    config: Config = "",
    json: JsonFlag = False,
) -> None:
    """Let a subscriber read again all that was delivered since then. Its key stays."""
    start = ago(since)
    _with(config, lambda subscribers: subscribers.rewind(team, name, since=start))
    if json:
        say_json({"team": team, "name": name, "since": start})
    else:
        say(f"{team}/{name}: reads again from {start.isoformat(timespec='seconds')} on")


@app.command(epilog="Example: `rota subscribers reload`")
def reload(config: Config = "", json: JsonFlag = False) -> None:
    """Tell the NATS servers to read their configuration again, after it was changed in another way than here."""
    count = _with(config, lambda subscribers: subscribers.reload())
    say_json({"servers": count}) if json else say(f"{count} server{'' if count == 1 else 's'} read it again")


def _with(folder: str, use: Callable[["Subscribers"], Coroutine[Any, Any, T]]) -> T:
    """What `use` makes of the subscribers that the folder and the server of the context have."""
    # nats-py takes half a second to import, and the other commands don't need it.
    from nats.errors import Error as NatsError

    from rota_common.nats_admin.config import Folder
    from rota_common.nats_admin.feed_client_admin import Subscribers

    given = context.load()
    given.need("nats_url") if folder else given.need("nats_url", "nats_config")
    path = Path(folder or given.nats_config)
    if not (path / "accounts.json").exists():
        raise CliError(f"expected NATS's configuration in {path}: it isn't there", hint="`rota nats-config` writes it")
    try:
        return run(use(Subscribers(Folder(path), given.nats_url)))
    except (NatsError, OSError, TimeoutError) as error:
        what = f"NATS at {given.nats_url} doesn't do that now: {error!r}"
        raise CliError(what, hint="start it with this configuration, or correct ROTA_NATS_URL") from error
    except ValueError as error:
        raise CliError(str(error), hint="`rota subscribers --help` shows what there is") from error


def _instant(text: str) -> datetime | None:
    return ago(text) if text else None


def _count(number: int | None) -> str:
    return "no consumer" if number is None else str(number)
