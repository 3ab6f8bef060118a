"""`rota webhook send`: post an event as an outside system would, signed as its scheme wants it."""

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
from rota.signing import Posted, Signer
from rota_common.clock import now
from rota_common.secrets import MissingSecret, resolve
from rota_contracts.sources import SIGNATURE_HEADER, Scheme

app = typer.Typer(help="Webhooks into Rota.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(help="The source's name, as in `rota sources`.")]
Secret = Annotated[str, typer.Option(help="The source's secret, or $ENV.VARIABLE of this shell.")]
SchemeOption = Annotated[Scheme, typer.Option(help="As in `rota sources`.")]
Header = Annotated[str, typer.Option(help="hmac: where the signature goes.")]


@app.callback()
def webhooks() -> None:
    """Webhooks into Rota."""


@app.command(
    epilog="Example: `rota webhook send leads --type lead.created --data @examples/events/lead-created.json "
    "--secret '$ENV.LEADS_SECRET'`"
)
def send(
    source: Source,
    type: Annotated[str, typer.Option(help="The event's type, for example lead.created; of GitHub issues.opened.")],
    secret: Secret,
    data: Annotated[str, typer.Option(help="The event's data: JSON, or @FILE.")] = "{}",
    scheme: SchemeOption = Scheme.STANDARD,
    header: Header = SIGNATURE_HEADER,
    id: Annotated[str, typer.Option(help="The event's own id; sent twice, it counts once. Default: a new one.")] = "",
    json: JsonFlag = False,
) -> None:
    """Post a signed webhook, as the sender of this source would."""
    signer = Signer(scheme, _key(secret), header)
    answer = _post(source, signer.event(message_id=id or _new_id(), at=now(), type=type, data=read_data(data)))
    if json:
        say_json(answer)
        return
    say(f"{answer['event_id']}: {answer['message']}")
    for one in answer["triggers"]:
        say(f"  {one['member_id']}: execution {one['execution_id']}")


@app.command(epilog="Example: `rota webhook ask chat 'What is due today?' --secret '$ENV.CHAT_KEY'`")
def ask(
    source: Source,
    message: Annotated[str, typer.Argument(help="What the robot is told.")],
    secret: Secret,
    scheme: SchemeOption = Scheme.BEARER,
    header: Header = SIGNATURE_HEADER,
    id: Annotated[str, typer.Option(help="The message's own id: again, it gets the stored answer.")] = "",
    json: JsonFlag = False,
) -> None:
    """Post a message to a source whose robot answers at once, and print the answer."""
    signer = Signer(scheme, _key(secret), header)
    answer = _post(source, signer.posted({"message": message}, message_id=id or _new_id(), at=now()))
    if json:
        say_json(answer)
    else:
        say(str(answer.get("response", answer.get("message", ""))))


def _post(source: str, posted: Posted) -> Json:
    given = context.load().need("url", "team")
    body, headers = posted

    async def post() -> Json:
        async with Api(given.url, given.team, "") as api:
            return await api.hook(given.team, source, body, headers)

    return run(post())


def _new_id() -> str:
    return f"msg_{uuid4().hex}"


def _key(secret: str) -> str:
    try:
        return resolve(secret, os.environ)
    except MissingSecret as error:
        raise CliError(str(error), hint="export it, or give the secret itself") from error
