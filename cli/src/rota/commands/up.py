"""`rota up`: the whole system on this machine, until Ctrl+C."""

import os
from pathlib import Path
from typing import Annotated

import typer

from rota import context as contexts
from rota.extras import server_extra
from rota.output import JsonFlag

LOOPBACK = "127.0.0.0/8,::1/128"
"""This machine: the API listens on it alone."""

Private = Annotated[
    str,
    typer.Option(
        envvar="ROTA_ALLOW_PRIVATE_TARGETS", help="Private networks that webhooks may go to; empty: none at all."
    ),
]
NatsPort = Annotated[
    int | None,
    typer.Option(min=0, max=65535, help="Port of its NATS; 0: any. Default: as at the last start, else 4222."),
]
NatsUrl = Annotated[
    str, typer.Option(envvar="ROTA_NATS_URL", help="A running NATS server with JetStream. Default: start one.")
]
MongoUrl = Annotated[
    str, typer.Option(envvar="ROTA_MONGO_URL", help="A running MongoDB replica set. Default: start one.")
]
EnvFile = Annotated[
    Path | None, typer.Option(help="Secrets of the team main: NAME=value, a line each. $SECRET.NAME refers to one.")
]
Secrets = Annotated[
    list[str] | None, typer.Option(help="A variable of this shell that is a secret of the team main. Repeatable.")
]
ContextName = Annotated[
    str, typer.Option(metavar="NAME", help="The name of its context, for `rota --context NAME`. Default: the folder's.")
]


def register(app: typer.Typer) -> None:
    app.command("up", epilog="Example: `rota up --data ~/rota-data --env-file .env.secrets`")(up)


def up(
    data: Annotated[
        Path | None, typer.Option(help="Keep data and keys in this folder. Default: a temporary one.")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of the HTTP API on 127.0.0.1; 0 takes any free one.")] = 8080,
    nats_port: NatsPort = None,
    nats_url: NatsUrl = "",
    mongo_url: MongoUrl = "",
    connector: Annotated[
        str,
        typer.Option(envvar="ROTA_CONNECTOR", help="The model. Default: openai if its key is set, else rehearsal."),
    ] = "",
    smtp_url: Annotated[str, typer.Option(envvar="ROTA_SMTP_URL", help="The mail server: smtp://host:port.")] = "",
    allow_private_targets: Private = LOOPBACK,
    env_file: EnvFile = None,
    secret: Secrets = None,
    context: ContextName = "",
    json: JsonFlag = False,
) -> None:
    """Start NATS, MongoDB and the seven services in one process. Ctrl+C stops everything."""
    with server_extra("rota up"):
        from rota.server.team_secrets import given_secrets
        from rota.server.up import UpOptions, run_up
    run_up(
        UpOptions(
            data=data,
            port=port,
            nats_port=nats_port,
            nats_url=nats_url,
            mongo_url=mongo_url,
            connector=connector,
            smtp_url=smtp_url,
            allow_private_targets=allow_private_targets,
            secrets=given_secrets(env_file, secret or (), os.environ),
            context=context or contexts.chosen(),
            json=json,
        )
    )
