"""`rota webhook send`: post an event as an outside system would, signed as Standard Webhooks want it."""

import os
from typing import Annotated
from uuid import uuid4

import typer

from rota import context
from rota.client import Api, Json
from rota.commands.trigger import read_data
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json
from rota.running import run
from rota.signing import signed_event
from rota_common.clock import now
from rota_common.secrets import MissingSecret, resolve

app = typer.Typer(help="Webhooks into Rota.", no_args_is_help=True)


@app.callback()
def webhooks() -> None:
    """Webhooks into Rota."""


@app.command(
    epilog="Example: `rota webhook send leads --type lead.created --data @examples/events/lead-created.json "
    "--secret '$ENV.LEADS_SECRET'`"
)
def send(
    source: Annotated[str, typer.Argument(help="The source's name, as in `rota sources`.")],
    type: Annotated[str, typer.Option(help="The event's type, for example lead.created.")],
    secret: Annotated[str, typer.Option(help="whsec_…, or $ENV.VARIABLE of this shell.")],
    data: Annotated[str, typer.Option(help="The event's data: JSON, or @FILE.")] = "{}",
    id: Annotated[str, typer.Option(help="The event's own id; sent twice, it counts once. Default: a new one.")] = "",
    json: JsonFlag = False,
) -> None:
    """Post a signed webhook, as the sender of this source would."""
    given = context.load().need("url", "team")
    body, headers = signed_event(
        _key(secret), message_id=id or f"msg_{uuid4().hex}", at=now(), type=type, data=read_data(data)
    )

    async def post() -> Json:
        async with Api(given.url, given.team, "") as api:
            return await api.hook(given.team, source, body, headers)

    answer = run(post())
    if json:
        say_json(answer)
        return
    say(f"{answer['event_id']}: {answer['message']}")
    for one in answer["triggers"]:
        say(f"  {one['member_id']}: execution {one['execution_id']}")


def _key(secret: str) -> str:
    try:
        return resolve(secret, os.environ)
    except MissingSecret as error:
        raise CliError(str(error), hint="export it, or give --secret whsec_…") from error
