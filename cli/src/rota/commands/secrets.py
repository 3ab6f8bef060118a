"""`rota secrets`: the team's secrets, which robots and sources refer to; their values are never shown."""

import getpass
import os
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from rota.client import Api, Json
from rota.deleting import YesFlag, delete
from rota.errors import CliError
from rota.output import JsonFlag, say, say_json, table
from rota.running import with_api
from rota.secrets_key import WAIT_S, rotate
from rota.signing import new_secret
from rota_contracts.secret_refs import is_reference, secret_name

app = typer.Typer(
    help="List the team's secrets; set one, or remove one. Robots refer to it as $SECRET.NAME.",
    invoke_without_command=True,
)

PATH = "/secrets"
NOT_SET = "The value is prompted for, or read from standard input; it is never an argument, which others could see."

Name = Annotated[str, typer.Argument(help="Letters, digits and _, as in $SECRET.NAME.")]


@app.callback(epilog="Example: `rota secrets`")
def listed(context: typer.Context, json: JsonFlag = False) -> None:
    """List the team's secrets; set one, or remove one. Robots refer to it as $SECRET.NAME."""
    if context.invoked_subcommand is None:
        _list(json=json)


@app.command("list", epilog="Example: `rota secrets list --json`")
def listing(json: JsonFlag = False) -> None:
    """List the team's secrets: names, when and by which key they were set. Values are never shown."""
    _list(json=json)


@app.command(
    "set",
    epilog="Example: `rota secrets set CRM_TOKEN --from-env CRM_TOKEN`, or `rota secrets set OUT_SECRET --generate`",
)
def set_(
    name: Name,
    from_env: Annotated[str, typer.Option(help="Take the value of this variable of the shell.")] = "",
    from_file: Annotated[Path | None, typer.Option(help="Take the content of this file.")] = None,
    generate: Annotated[bool, typer.Option("--generate", help="Make a signing secret and show it once.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="With --generate: also in place of one in use.")] = False,
    json: JsonFlag = False,
) -> None:
    """Set a secret, or replace its value. The value is prompted for, or read from standard input."""
    name = _plain(name)
    if [bool(from_env), bool(from_file), generate].count(True) > 1:
        raise CliError("expected one of --from-env, --from-file and --generate", hint="leave the others out")
    value = new_secret() if generate else _value(name, from_env, from_file)

    async def set_it(api: Api) -> Json:
        if generate and not replace:
            await _check_unused(api, name)
        return await api.of_team("PUT", _path(name), json={"value": value})

    done = with_api(set_it)
    if json:
        say_json(done | ({"value": value} if generate else {}))
    else:
        if generate:
            say(f"{value}    it is not shown again: give it to the receiver")
        say(f"{name}: set; refer to it as {done['reference']}. A new value is used everywhere within a minute.")


@app.command(epilog="Example: `rota secrets remove CRM_TOKEN --yes`")
def remove(name: Name, yes: YesFlag = False, json: JsonFlag = False) -> None:
    """Remove a secret. What refers to it fails from then on."""
    name = _plain(name)

    async def remove_it(api: Api) -> None:
        await api.of_team("DELETE", _path(name))

    delete(
        remove_it,
        named={"name": name},
        question=f"Remove the secret {name}?",
        yes=yes,
        json=json,
    )


@app.command("rotate-key", epilog="Example: `rota secrets rotate-key ~/rota-data/secrets.key`")
def rotate_key(
    file: Annotated[
        Path, typer.Argument(help="The file of ROTA_SECRETS_KEY_FILE. `rota up`: secrets.key of its data.")
    ],
    wait: Annotated[float, typer.Option(min=0, help="Seconds until every gateway has a changed file.")] = WAIT_S,
    json: JsonFlag = False,
) -> None:
    """Seal all secrets with a new master key, and drop the old one (needs the admin key). Cut off, repeat it."""
    file = file.expanduser()
    done = with_api(lambda api: rotate(file, api, wait=wait), admin=True)
    if json:
        say_json({"file": str(file), "key": done["keys"][0]})
    else:
        say(f"{file}: a new key, with which all secrets are sealed; the old one is gone.")
        say("Back the file up: without it no secret can be read.")


def _list(*, json: bool) -> None:
    found = with_api(lambda api: api.of_team("GET", PATH))["secrets"]
    if json:
        say_json(found)
    elif not found:
        say("This team has no secrets yet: rota secrets set CRM_TOKEN")
    else:
        rows = [
            (
                one["name"],
                one["reference"],
                "the operator" if one["given_by_operator"] else one["set_by"],
                one["set_at"],
            )
            for one in found
        ]
        table(("NAME", "REFERENCE", "SET BY", "SET AT"), rows)


async def _check_unused(api: Api, name: str) -> None:
    """CliError if there is a secret of this name: who signs with it doesn't know a generated value."""
    if name not in {one["name"] for one in (await api.of_team("GET", PATH))["secrets"]}:
        return
    used = [one["name"] for one in await api.sources() if f"$SECRET.{name}" in one.get("secrets", [])]
    hint = "--replace replaces it: what is signed with the old value is refused at once, and that value is lost"
    if used:
        rotate = ", ".join(f"`rota sources rotate {source} --generate`" for source in used)
        hint = f"{rotate} changes the secret of a source, and the old one is valid until --finish; {hint}"
    raise CliError(f"expected a new name for a generated secret: {name} is set already", hint=hint)


def _value(name: str, from_env: str, from_file: Path | None) -> str:
    if from_env:
        if not (value := os.environ.get(from_env)):
            raise CliError(f"expected the environment variable {from_env}: it is not set", hint="export it first")
        return value
    if from_file:
        try:
            return from_file.expanduser().read_text().removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CliError(f"can't read {from_file}: {error}", hint="expected a file with the value as text") from error
    value = getpass.getpass(f"Value of {name}: ") if sys.stdin.isatty() else sys.stdin.read().removesuffix("\n")
    if not value:
        raise CliError(f"expected the value of {name} on standard input: there is none", hint=NOT_SET)
    return value


def _plain(name: str) -> str:
    """The name, also where it was given as a reference."""
    return (secret_name(name) or name) if is_reference(name) else name


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"
