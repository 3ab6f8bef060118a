"""`rota sources`: sources of the team's events, webhooks and databases."""

import getpass
import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rota import context as contexts
from rota.client import Api, Json
from rota.conditions import parse_condition
from rota.deleting import YesFlag
from rota.deleting import delete as delete_it
from rota.errors import CliError
from rota.missing_names import secret_warnings
from rota.output import JsonFlag, say, say_json, table, warn
from rota.running import with_api
from rota_contracts.sources import Scheme

app = typer.Typer(
    help="List the team's event sources; add or show one, rotate its secret, remove it.",
    invoke_without_command=True,
)

MOST_SECRETS = 2
Name = Annotated[str, typer.Argument(help="As in `rota sources`.")]
NewName = Annotated[str, typer.Argument(help="The name, as in events[].source of robots.")]
SecretOption = Annotated[
    list[str] | None,
    typer.Option(
        "--secret",
        help="$SECRET.NAME, as in `rota secrets`; - prompts for the secret, which is stored encrypted. "
        "Twice: both are valid.",
    ),
]
GenerateFlag = Annotated[bool, typer.Option("--generate", help="Generate a secret and show it once.")]


@app.callback(epilog="Example: `rota sources`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's event sources; add or show one, rotate its secret, remove it."""
    if context.invoked_subcommand is None:
        _list(json=json)


@app.command("list", epilog="Example: `rota sources list --json`")
def listing(json: JsonFlag = False) -> None:
    """List the team's event sources, without their secrets."""
    _list(json=json)


@app.command(epilog="Example: `rota sources show leads`")
def show(name: Name, json: JsonFlag = False) -> None:
    """Show all settings of a source, and the URL for its sender."""
    found = with_api(lambda api: api.of_team("GET", _path(name)))
    if json:
        say_json(found)
        return
    for field, value in found.items():
        if value not in (None, []):
            say(f"{field}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


@app.command(
    epilog="Example: `rota sources add leads --secret '$SECRET.LEADS_SECRET'`, or "
    "`rota sources add issues --scheme github --generate --event-type 'issues.*'`"
)
def add(
    name: NewName,
    secret: SecretOption = None,
    generate: GenerateFlag = False,
    scheme: Annotated[Scheme, typer.Option(help="The signature scheme of the sender.")] = Scheme.STANDARD,
    signing_secret: Annotated[
        str | None, typer.Option(help="bearer: also require the body's HMAC in the header. Like --secret.")
    ] = None,
    header: Annotated[
        str | None, typer.Option(help="hmac: the header of the signature. Default: X-Webhook-Signature.")
    ] = None,
    event_type: Annotated[list[str] | None, typer.Option(help="Accept only these; with * and ?. Repeatable.")] = None,
    event_type_field: Annotated[str | None, typer.Option(help="The body's field with the event's type.")] = None,
    id_field: Annotated[str | None, typer.Option(help="hmac, bearer: the body's field with the event's id.")] = None,
    rate_limit: Annotated[int | None, typer.Option(help="Events per minute.")] = None,
    robot: Annotated[str | None, typer.Option(help="This robot answers each message synchronously.")] = None,
    json: JsonFlag = False,
) -> None:
    """Accept webhooks of a new source at /v1/hooks/TEAM/NAME."""
    signing = {"signing_secret": _secret(signing_secret)} if signing_secret else {}
    fields = {"header": header, "event_types": event_type, "event_type_field": event_type_field, "id_field": id_field}
    given = fields | {"rate_limit": rate_limit, "robot": robot} | signing
    _add(name, {"scheme": scheme.value, "secrets": _secrets(secret, generate=generate)} | given, json=json)


@app.command(
    "add-database",
    epilog="Example: `rota sources add-database crm --url '$SECRET.CRM_MONGO_URL' --database crm --collection leads "
    "--operation insert --where 'document.score gt 50'`",
)
def add_database(
    name: NewName,
    url: Annotated[str, typer.Option(help="$SECRET.NAME, which the operator gives the team: the MongoDB URL.")],
    database: Annotated[str, typer.Option(help="The database.")],
    collection: Annotated[str, typer.Option(help="The collection whose changes are events.")],
    operation: Annotated[list[str] | None, typer.Option(help="insert, update, replace, delete. Default: all.")] = None,
    where: Annotated[list[str] | None, typer.Option(help="'PATH OP VALUE', repeatable; all must hold.")] = None,
    json: JsonFlag = False,
) -> None:
    """Accept the changes of a MongoDB collection as events."""
    location = {"url": url, "database": database, "collection": collection}
    chosen = {"operations": operation or None, "conditions": [parse_condition(text) for text in where or []] or None}
    _add(name, {"type": "database"} | location | chosen, json=json)


@app.command(
    epilog="Example: `rota sources rotate leads --generate`, then update the sender, then "
    "`rota sources rotate leads --finish`"
)
def rotate(
    name: Name,
    secret: Annotated[str, typer.Option(help="The new secret, like --secret of `rota sources add`.")] = "",
    generate: GenerateFlag = False,
    finish: Annotated[bool, typer.Option("--finish", help="Revoke the old secret.")] = False,
    json: JsonFlag = False,
) -> None:
    """Rotate a source's secret: the new and the previous one are both valid until --finish."""
    if [bool(secret), generate, finish].count(True) != 1:
        raise CliError(
            "expected one of --secret, --generate and --finish", hint=f"rota sources rotate {name} --generate"
        )
    new: Any = {"generate": True} if generate else _secret(secret) if secret else None
    change = {"forget_old_secret": True} if finish else {"new_secret": new}
    changed = with_api(lambda api: api.of_team("PATCH", _path(name), json=change))
    _print(changed, json=json, text=f"{name}: {'the old secret is revoked' if finish else 'has a new secret'}")


@app.command(epilog="Example: `rota sources remove leads --yes`")
def remove(name: Name, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Remove a source: its events are rejected from now on."""

    async def remove_it(api: Api) -> None:
        await api.of_team("DELETE", _path(name))

    delete_it(remove_it, named={"source": name}, question=f"Remove the source {name}?", yes=yes, json=json)


def _list(*, json: bool) -> None:
    sources = with_api(lambda api: api.sources())
    if json:
        say_json(sources)
    elif not sources:
        say("This team has no sources yet: rota sources add leads --secret '$SECRET.LEADS_SECRET'")
    else:
        table(("NAME", "TYPE", "SCHEME", "SECRET", "FROM"), map(_row, sources))


def _row(source: Json) -> tuple[object, ...]:
    if source["type"] == "database":
        return source["name"], "database", "", source["url"], f"{source['database']}.{source['collection']}"
    return source["name"], "webhook", source["scheme"], ", ".join(source["secrets"]), source["hook_url"]


def _add(name: str, given: Json, *, json: bool) -> None:
    body = {"name": name} | {field: value for field, value in given.items() if value is not None}

    async def add_and_check(api: Api) -> tuple[Json, list[str]]:
        found = await secret_warnings(api, body)
        return await api.of_team("POST", "/sources", json=body), found

    added, found = with_api(add_and_check)
    where = f", the sender posts to {contexts.load().url.rstrip('/')}{added['hook_url']}" if "hook_url" in added else ""
    _print(added, json=json, text=f"{name}: added{where}")
    for text in found:
        warn(text)


def _print(saved: Json, *, json: bool, text: str) -> None:
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
        hint = "--secret '$SECRET.LEADS_SECRET' or --generate; two during a rotation"
        raise CliError(f"expected one or two secrets, not {len(secrets)}", hint=hint)
    return secrets


def _secret(given: str) -> str:
    """A reference as it is; for `-` the typed or piped input, which no list of processes shows."""
    if given != "-":
        return given
    return getpass.getpass("Secret: ") if sys.stdin.isatty() else sys.stdin.readline().strip()


def _path(name: str) -> str:
    return f"/sources/{quote(name, safe='')}"
