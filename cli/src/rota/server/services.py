"""The seven services in one process: their settings, readiness, and the order in which they drain."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

import delivery_center.app
import delivery_center.settings
import executor.app
import executor.settings
import learner.app
import learner.settings
import memory.app
import memory.settings
import scheduler.app
import scheduler.settings
import trigger_gateway.app
import trigger_gateway.settings
import validator.app
import validator.settings
from rota.errors import CliError
from rota.server.servers import key_of
from rota_common.nats_admin.config import Folder
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.runtime.settings import ServiceSettings

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0

GATEWAY = "trigger-gateway"
DRAIN_ORDER = (("scheduler",), ("executor",), ("validator", "delivery-center", "learner"), ("memory",))
"""Services that answer requests stop after those that send them. The gateway stops first, with its HTTP server."""


@dataclass(frozen=True)
class StackSettings:
    """`folder` holds the services' files, `nats` their keys for a NATS server that requires them. `public_url` is where
    the gateway answers, unless the environment says another."""

    nats_url: str
    mongo_url: str
    folder: Path
    admin_key: str
    connector: str
    mongo_prefix: str = "rota"
    smtp_url: str = ""
    allow_private_targets: str = ""
    public_url: str = ""
    nats: Folder | None = None


def build_all(
    settings: StackSettings, runtime: Runtime, environ: Mapping[str, str], secrets: Mapping[str, Mapping[str, str]]
) -> dict[str, App]:
    """Service name → the service, not started. The operator's settings refer to `environ`; `secrets` are the teams'."""
    common = ServiceSettings(
        nats_url=settings.nats_url,
        mongo_url=settings.mongo_url,
        mongo_prefix=settings.mongo_prefix,
        http_host="127.0.0.1",
        stop_timeout=STOP_TIMEOUT_S,
    ).model_dump()

    def of(service: str) -> dict[str, Any]:
        return common | {"nats_nkey_file": key_of(service, settings.nats)}

    return {
        GATEWAY: trigger_gateway.app.build(
            trigger_gateway.settings.Settings(
                **of(GATEWAY),
                admin_key=SecretStr(settings.admin_key),
                secrets_key=SecretStr(environ.get("ROTA_SECRETS_KEY", "")),
                secrets_key_file=settings.folder / "secrets.key",
                public_url=environ.get("ROTA_PUBLIC_URL", settings.public_url),
            ),
            runtime=runtime,
            team_secrets=secrets,
        ),
        "scheduler": scheduler.app.build(scheduler.settings.Settings(**of("scheduler")), runtime=runtime),
        "executor": executor.app.build(
            executor.settings.Settings(**of("executor"), connector=settings.connector), runtime=runtime, environ=environ
        ),
        "validator": validator.app.build(validator.settings.Settings(**of("validator")), runtime=runtime),
        "delivery-center": delivery_center.app.build(
            delivery_center.settings.Settings(
                **of("delivery-center"),
                smtp_url=settings.smtp_url,
                allow_private_targets=settings.allow_private_targets,
                **senders(environ),
            ),
            runtime=runtime,
            environ=environ,
        ),
        "learner": learner.app.build(learner.settings.Settings(**of("learner")), runtime=runtime),
        "memory": memory.app.build(
            memory.settings.Settings(**of("memory"), qdrant_path=str(settings.folder / "qdrant")), runtime=runtime
        ),
    }


def senders(environ: Mapping[str, str]) -> dict[str, Any]:
    """Unless it is set: the teams are those of one person, who may send as anyone whom the mail server accepts."""
    return {} if "ROTA_MAIL_SENDERS" in environ else {"mail_senders": {"*": ["*"]}}


async def wait_until_ready(apps: Mapping[str, App]) -> None:
    """Return when every service is ready; CliError with their problems after 30 s."""
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            for app in apps.values():
                await app.service.started.wait()
    except TimeoutError as error:
        details = [f"{name}: {reason}" for name, reason in (await problems(apps)).items()]
        what = f"expected every service to be ready within {START_TIMEOUT_S:g} s; these are not:"
        raise CliError(what, details=details, hint="check the part that is named, or see the log") from error


async def stop_all(apps: Mapping[str, App]) -> None:
    """Finish the messages in progress (10 s at most per service), and close the connections.

    `apps` lacks the gateway, which starts and stops with its HTTP server.
    """
    for group in DRAIN_ORDER:
        await asyncio.gather(*(apps[name].service.stop(STOP_TIMEOUT_S) for name in group))


async def problems(apps: Mapping[str, App]) -> dict[str, str]:
    """Service → why it is not ready; empty when all are."""
    found = {name: await app.service.problems() for name, app in apps.items()}
    return {name: "; ".join(f"{part}: {why}" for part, why in parts.items()) for name, parts in found.items() if parts}
