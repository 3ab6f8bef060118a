"""`rota upgrade --check`: whether a running Rota can be upgraded to the version of this command."""

import os
from typing import Annotated

import typer

from rota import context
from rota.errors import CliError
from rota.extras import server_extra
from rota.output import JsonFlag, say
from rota.running import run
from rota.show_findings import show
from rota_contracts.version import VERSION

EPILOG = "Example: `rota upgrade --check --service http://executor:8080 --service http://scheduler:8080`"


def register(app: typer.Typer) -> None:
    app.command("upgrade", epilog=EPILOG)(upgrade)


def upgrade(
    check: Annotated[bool, typer.Option("--check", help="Only look: nothing is changed.")] = False,
    service: Annotated[
        list[str] | None,
        typer.Option(help="The address of a service's HTTP port, to see its version; repeatable."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Check whether a running Rota can be upgraded to this version. Exit code 1 if something is to be done first.

    It asks the gateway and each `--service` for its version, compares streams, buckets and consumers with those that
    this version declares, and reads the newest 1000 stored documents of each kind as this version would. NATS and
    MongoDB are those of the context, or of ROTA_NATS_URL, ROTA_NATS_CONFIG, ROTA_MONGO_URL and ROTA_MONGO_PREFIX.
    """
    if not check:
        what = "expected --check: services are replaced by what runs them (Kubernetes, Compose), not by this command"
        raise CliError(what, hint="docs/operations.md, Upgrades, has the order")
    with server_extra("rota upgrade"):
        from rota.server.upgrade_check import check_upgrade

    given = context.load().need("url")
    findings = run(check_upgrade(given, service or [], mongo_prefix=os.environ.get("ROTA_MONGO_PREFIX", "rota")))
    missing = show(findings, json=json)
    if not json:
        say(f"{missing} to be done before {VERSION}." if missing else f"Ready for {VERSION}.")
    raise typer.Exit(1 if missing else 0)
