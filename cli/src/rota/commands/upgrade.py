"""`rota upgrade --check`: whether a running Rota can be upgraded to the version of this command."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from rota import context
from rota.errors import CliError
from rota.extras import server_extra
from rota.findings import Finding
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
    partial: Annotated[
        bool, typer.Option("--partial", help="Exit code 0 also if parts are not checked, and all others are ready.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Check whether a running Rota can be upgraded to this version. Exit code 1 if something is to be done first.

    So it is if parts are not checked, but for `--partial`.

    It asks the gateway and each `--service` for its version, compares streams, buckets and consumers with those that
    this version declares, and reads the newest 1000 stored documents of each kind as this version would. NATS and
    MongoDB are those of the context, or of ROTA_NATS_URL, ROTA_NATS_NKEY_FILE (or ROTA_NATS_CONFIG), ROTA_MONGO_URL and
    ROTA_MONGO_PREFIX.
    """
    if not check:
        what = "expected --check: services are replaced by what runs them (Kubernetes, Compose), not by this command"
        raise CliError(what, hint="docs/operations.md, Upgrades, has the order")
    with server_extra("rota upgrade"):
        from rota.server.upgrade_check import check_upgrade

    given = context.load().need("url")
    findings = run(check_upgrade(given, service or [], mongo_prefix=os.environ.get("ROTA_MONGO_PREFIX", "rota")))
    missing, unchecked = show(findings, json=json), [one for one in findings if not one.asked]
    if not json:
        say(_conclusion(missing, unchecked, partial=partial))
    raise typer.Exit(1 if missing or (unchecked and not partial) else 0)


def _conclusion(missing: int, unchecked: Sequence[Finding], *, partial: bool) -> str:
    said = [f"{missing} to be done before {VERSION}."] if missing else []
    if unchecked:
        parts, mends = (", ".join(texts) for texts in zip(*((one.part, one.mend) for one in unchecked), strict=True))
        said.append(f"Not fully checked: {parts}: {mends}" + ("." if partial else ", or accept it with --partial."))
    if not missing and (partial or not unchecked):
        said.append(f"Ready for {VERSION}" + (", as far as it was checked." if unchecked else "."))
    return "\n".join(said)
