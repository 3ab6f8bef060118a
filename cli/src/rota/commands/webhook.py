"""`rota webhook`: signed webhooks, as an external system sends them."""

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
from rota.signing import Request, Signer
from rota.timestamps import now
from rota_contracts.sources import SIGNATURE_HEADER, Scheme

REFERENCE = "$ENV."

app = typer.Typer(help="Send webhooks to Rota.", no_args_is_help=True)

Source = Annotated[str, typer.Argument(help="The source's name, as in `rota sources`.")]
Secret = Annotated[str, typer.Option(help="The source's secret, or $ENV.VARIABLE of this shell.")]
SchemeOption = Annotated[Scheme, typer.Option(help="As in `rota sources`.")]
Header = Annotated[str, typer.Option(help="hmac: the header of the signature.")]


@app.callback()
def webhooks() -> None:
    """Send webhooks to Rota."""


@app.command(
    epilog="Example: `rota webhook send leads --type lead.created --data @examples/events/lead-created.json "
    "--secret '$ENV.LEADS_SECRET'`"
)
def send(
    source: Source,
    type: Annotated[str, typer.Option(help="The event's type, for example lead.created; for GitHub issues.opened.")],
    secret: Secret,
    data: Annotated[str, typer.Option(help="The event's data: JSON, or @FILE.")] = "{}",
    scheme: SchemeOption = Scheme.STANDARD,
    header: Header = SIGNATURE_HEADER,
    id: Annotated[str, typer.Option(help="The event's id; duplicates count once. Default: a new one.")] = "",
    json: JsonFlag = False,
) -> None:
    """Send a signed webhook, as the sender of this source does."""
    signer = Signer(scheme, secret_of(secret), header)
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
    message: Annotated[str, typer.Argument(help="The message to the robot.")],
    secret: Secret,
    scheme: SchemeOption = Scheme.BEARER,
    header: Header = SIGNATURE_HEADER,
    id: Annotated[str, typer.Option(help="The message's id; a duplicate gets the stored answer.")] = "",
    json: JsonFlag = False,
) -> None:
    """Send a message to a source whose robot answers synchronously, and print the answer."""
    signer = Signer(scheme, secret_of(secret), header)
    answer = _post(source, signer.request({"message": message}, message_id=id or _new_id(), at=now()))
    if json:
        say_json(answer)
    else:
        say(str(answer.get("response", answer.get("message", ""))))


def _post(source: str, request: Request) -> Json:
    given = context.load().need("url", "team")
    body, headers = request

    async def post() -> Json:
        async with Api(given.url, given.team, key="") as api:
            return await api.hook(given.team, source, body, headers)

    return run(post())


def _new_id() -> str:
    return f"msg_{uuid4().hex}"


def secret_of(secret: str) -> str:
    """The secret itself, or that of `$ENV.VARIABLE`. CliError if the variable is not set."""
    if not secret.startswith(REFERENCE):
        return secret
    name = secret.removeprefix(REFERENCE)
    if not os.environ.get(name):
        what = f"expected the environment variable {name} (referred to as {secret}): it is not set"
        raise CliError(what, hint="export it, or give the secret itself")
    return os.environ[name]
