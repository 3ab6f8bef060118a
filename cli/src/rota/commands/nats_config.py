"""`rota nats-config`: the NATS server's configuration, in which each user may do only what the catalog allows."""

from pathlib import Path
from typing import Annotated

import typer

from rota.errors import CliError
from rota.extras import server_extra
from rota.output import JsonFlag, say, say_json

EPILOG = "Example: `rota nats-config --out nats --port 4222`, then `nats-server --config nats/nats.conf`"


def register(app: typer.Typer) -> None:
    app.command("nats-config", epilog=EPILOG)(nats_config)


def nats_config(
    out: Annotated[Path, typer.Option(help="The folder. Keep it safe: it holds every key.", file_okay=False)],
    # The server runs in a container: its network decides who reaches it.
    host: Annotated[str, typer.Option(help="The address the server listens on.")] = "0.0.0.0",  # noqa: S104
    port: Annotated[int, typer.Option(help="The port for clients.")] = 4222,
    http_port: Annotated[int, typer.Option(help="The port for monitoring; 0: none.")] = 8222,
    store: Annotated[str, typer.Option(help="The folder of the streams, as the server sees it.")] = "/data",
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", help="Print the Secrets that deploy/k8s refers to.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Write the NATS server's configuration and a key per user into a folder. Existing keys are kept.

    A service reads its key from the file in ROTA_NATS_NKEY_FILE: `keys/SERVICE/nats.nk`. Programs of a team get theirs
    by `rota feed-clients add`.

    On Kubernetes: `rota nats-config --out nats --kubernetes | kubectl apply -n rota -f -`. After a change run it again,
    and a minute later, when the pods have the new Secret, `rota feed-clients reload`.
    """
    with server_extra("rota nats-config"):
        from rota_common.nats_admin import config as config
        from rota_common.nats_admin.accounts import USERS

    folder = config.Folder(out)
    try:
        config.write(folder, config.Server(host, port, http_port, store))
    except (OSError, ValueError) as error:
        raise CliError(f"can't write the configuration: {error}", hint="choose another folder, or repair it") from error
    if kubernetes:
        say(config.kubernetes(folder))
    elif json:
        say_json({"config": str(folder.config), "keys": {user: str(folder.key(user)) for user in USERS}})
    else:
        say(f"{folder.config}: the configuration")
        say(f"{out}/keys/USER/{config.KEY_FILE}: a key for each of {', '.join(USERS)}")
