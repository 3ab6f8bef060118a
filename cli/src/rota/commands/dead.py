"""`rota dead`: dead letters, and sending them back."""

from typing import Annotated

import typer

from rota.client import Api, Json
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.timestamps import utc_text

app = typer.Typer(help="Messages that no service could handle (needs the admin key).", no_args_is_help=True)


@app.command("list", epilog="Example: `rota dead list`")
def listed(json: JsonFlag = False) -> None:
    """List the dead letters, the oldest first."""
    letters = with_api(lambda api: api.dead(), admin=True)
    if json:
        say_json(letters)
    elif not letters:
        say("There are no dead letters.")
    else:
        rows = [(one["seq"], one["buried_at"], one["subject"], one["consumer"], one["reason"]) for one in letters]
        table(("SEQ", "BURIED AT", "SUBJECT", "CONSUMER", "REASON"), rows)


@app.command(epilog="Example: `rota dead show 17`")
def show(seq: Annotated[int, typer.Argument(help="Its number in `rota dead list`.")], json: JsonFlag = False) -> None:
    """Show one dead letter in full."""
    letter = with_api(lambda api: api.dead_letter(seq), admin=True)
    if json:
        say_json(letter)
        return
    for name in ("seq", "subject", "consumer", "reason", "deliveries", "buried_at", "traceback"):
        say(f"{name:<11} {utc_text(letter.get(name)) if name == 'buried_at' else letter.get(name)}")
    for name, value in sorted((letter.get("headers") or {}).items()):
        say(f"  {name}: {value}")
    say(str(letter.get("payload", "")))


@app.command(epilog="Example: `rota dead redrive 17`, or `rota dead redrive --all`")
def redrive(
    seq: Annotated[int | None, typer.Argument(help="Its number in `rota dead list`.")] = None,
    all_of_them: Annotated[bool, typer.Option("--all", help="Every dead letter.")] = False,
    force: Annotated[bool, typer.Option(help="Also if an interrupted redrive may have sent it already.")] = False,
    json: JsonFlag = False,
) -> None:
    """Send dead letters back to their stream, once the cause is fixed."""
    if (seq is None) is not all_of_them:
        raise typer.BadParameter("expected a number or --all")

    async def send_back(api: Api) -> list[Json]:
        wanted = [int(letter["seq"]) for letter in await api.dead()] if seq is None else [seq]
        return [{"seq": one, "subject": (await api.redrive(one, force=force)).get("subject")} for one in wanted]

    for sent in with_api(send_back, admin=True):
        say_json(sent) if json else say(f"{sent['seq']}: sent back to {sent['subject'] or 'its subject'}")
