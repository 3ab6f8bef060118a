"""`rota sources`: where the team's events come from: webhooks, and changes of databases."""

import getpass
import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.conditions import condition
from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota_contracts.sources import Scheme

app = typer.Typer(
    help="List the team's sources of events; add one, look at one, change its secret, remove it.",
    invoke_without_command=True,
)

MOST_SECRETS = 2
Name = Annotated[str, typer.Argument(help="As in `rota sources`.")]
NewName = Annotated[str, typer.Argument(help="What robots call it: events[].source NAME.")]
SecretOption = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="$ENV.VARIABLE of the gateway's process; - asks for the secret itself, which is then kept encrypted. "
        "Twice: both are valid.",
    ),
]
GenerateFlag = Annotated[bool, typer.Option("--generate", help="Make a secret and show it, once.")]


@app.callback(epilog="Example: `rota sources`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's sources of events; add one, look at one, change its secret, remove it."""
    if context.invoked_subcommand is None:
        _list(json=json)


@app.command("list", epilog="Example: `rota sources list --json`")
def listing(json: JsonFlag = False) -> None:
    """List the team's sources of events, without their secrets."""
    _list(json=json)


@app.command(epilog="Example: `rota sources show leads`")
def show(name: Name, json: JsonFlag = False) -> None:
    """All settings of a source, and where its sender posts to."""
    found = with_api(lambda api: api.of_team("GET", _path(name)))
    if json:
        say_json(found)
        return
    for field, value in found.items():
        if value not in (None, []):
            say(f"{field}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


@app.command(
    epilog="Example: `rota sources add leads --secret '$ENV.LEADS_SECRET'`, or "
    "`rota sources add issues --scheme github --generate --event-type 'issues.*'`"
)
def add(
    name: NewName,
    secret: SecretOption = None,
    generate: GenerateFlag = False,
    scheme: Annotated[Scheme, typer.Option(help="How its sender signs.")] = Scheme.STANDARD,
    signing_secret: Annotated[
        str | None, typer.Option(help="bearer: with it, the body's HMAC must be in the header too. Like --secret.")
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="hmac: where the signature is. Default: X-Webhook-Signature.")
    ] = None,
    event_type: Annotated[list[str] | None, typer.Option(help="Take only these; with * and ?. Repeatable.")] = None,
    event_type_field: Annotated[str | None, typer.Option(help="The body's field with the event's type.")] = None,
    id_field: Annotated[str | None, typer.Option(help="hmac, bearer: the body's field with the event's id.")] = None,
    rate_limit: Annotated[int | None, typer.Option(help="Events a minute.")] = None,
    robot: Annotated[str | None, typer.Option(help="This robot answers each message at once.")] = None,
    json: JsonFlag = False,
) -> None:
    """Accept webhooks of a new sender at /v1/hooks/TEAM/NAME."""
    signing = {"signing_secret": _secret(signing_secret)} if signing_secret else {}
    fields = {"header": header, "event_types": event_type, "event_type_field": event_type_field, "id_field": id_field}
    given = fields | {"rate_limit": rate_limit, "robot": robot} | signing
    _add(name, {"scheme": scheme.value, "secrets": _secrets(secret, generate=generate)} | given, json=json)


@app.command(
    "add-database",
    epilog="Example: `rota sources add-database crm --url '$ENV.CRM_MONGO_URL' --database crm --collection leads "
    "--operation insert --where 'document.score gt 50'`",
)
def add_database(
    name: NewName,
    url: Annotated[str, typer.Option(help="$ENV.VARIABLE of the gateway's process, with the MongoDB address.")],
    database: Annotated[str, typer.Option(help="Its name.")],
    collection: Annotated[str, typer.Option(help="Whose changes are events.")],
    operation: Annotated[list[str] | None, typer.Option(help="insert, update, replace, delete. Default: all.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="'PATH OP VALUE', all of which must hold. Repeatable.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Take the changes of a MongoDB collection as events."""
    place = {"url": url, "database": database, "collection": collection}
    chosen = {"operations": operation or None, "conditions": [condition(text) for text in where or []] or None}
    _add(name, {"type": "database"} | place | chosen, json=json)


@app.command(
    epilog="Example: `rota sources rotate leads --generate`, then give it to the sender, then "
    "`rota sources rotate leads --finish`"
)
def rotate(
    name: Name,
    secret: Annotated[str, typer.Option(help="The new one, like --secret of `rota sources add`.")] = "",
    generate: GenerateFlag = False,
    finish: Annotated[bool, typer.Option("--finish", help="The old secret is valid no more.")] = False,
    json: JsonFlag = False,
) -> None:
    """Change a source's secret: the new one and the newest one before it are both valid, until --finish."""
    if [bool(secret), generate, finish].count(True) != 1:
        raise CliError(
            "expected one of --secret, --generate and --finish", hint=f"rota sources rotate {name} --generate"
        )
    new: Any = {"generate": True} if generate else _secret(secret) if secret else None
    change = {"forget_old_secret": True} if finish else {"new_secret": new}
    changed = with_api(lambda api: api.of_team("PATCH", _path(name), json=change))
    _tell(changed, json=json, text=f"{name}: {'the old secret is forgotten' if finish else 'has a new secret'}")


@app.command(epilog="Example: `rota sources remove leads --yes`")
def remove(name: Name, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Remove a source: its events are refused from now on."""

    async def gone(api: Api) -> None:
        await api.of_team("DELETE", _path(name))

    delete_it(gone, named={"source": name}, question=f"Remove the source {name}?", yes=yes, json=json)


def _list(*, json: bool) -> None:
    sources = with_api(lambda api: api.sources())
    if json:
        say_json(sources)
    elif not sources:
        say("This team has no sources yet: rota sources add leads --secret '$ENV.LEADS_SECRET'")
    else:
        table(("NAME", "TYPE", "SCHEME", "SECRET", "FROM"), map(_row, sources))


def _row(source: Json) -> tuple[object, ...]:
    if source["type"] == "database":
        return source["name"], "database", "", source["url"], f"{source['database']}.{source['collection']}"
    return source["name"], "webhook", source["scheme"], ", ".join(source["secrets"]), source["hook_url"]


def _add(name: str, given: Json, *, json: bool) -> None:
    body = {"name": name} | {field: value for field, value in given.items() if value is not None}
    added = with_api(lambda api: api.of_team("POST", "/sources", json=body))
    where = f", its sender posts to {added['hook_url']}" if "hook_url" in added else ""
    _tell(added, json=json, text=f"{name}: added{where}")


def _tell(saved: Json, *, json: bool, text: str) -> None:
    if json:
        say_json(saved)
        return
    say(text)
    for secret in saved.get("generated_secrets") or []:
        say("its secret, shown only now:")
        say(secret)


def _secrets(given: list[str] | None, *, generate: bool) -> list[Any]:
    secrets: list[Any] = [_secret(one) for one in given or []] + ([{"generate": True}] if generate else [])
    if not 1 <= len(secrets) <= MOST_SECRETS:
        hint = "--secret '$ENV.LEADS_SECRET' or --generate; two while the sender changes from one to the other"
        raise CliError(f"expected one or two secrets, not {len(secrets)}", hint=hint)
    return secrets


def _secret(given: str) -> str:
    """A reference as it is; for `-` what is typed or piped in, so that it stands in nobody's list of processes."""
    if given != "-":
        return given
    return getpass.getpass("Secret: ") if sys.stdin.isatty() else sys.stdin.readline().strip()


def _path(name: str) -> str:
    return f"/sources/{quote(name, safe='')}"
