"""The seven services in one process: built with their settings, started together, drained in the order of the work."""

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
from rota.server.bootstrap import secrets_key_of
from rota.server.servers import key_of
from rota_common.nats_admin.config import Folder
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.runtime.settings import ServiceSettings

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0

GATEWAY = "trigger-gateway"
DRAIN_ORDER = (("scheduler",), ("executor",), ("validator", "delivery-center", "learner"), ("memory",))
"""Who answers questions goes after those who ask them. Before all of them goes the gateway, with its HTTP side."""


@dataclass(frozen=True)
class Choices:
    """What differs from one whole system to another. `folder` holds what the services keep in files, `nats` the keys
    by which NATS knows them, where it asks."""

    nats_url: str
    mongo_url: str
    folder: Path
    admin_key: str
    connector: str
    mongo_prefix: str = "rota"
    smtp_url: str = ""
    allow_private_targets: str = ""
    nats: Folder | None = None


def build_all(chosen: Choices, runtime: Runtime, environ: Mapping[str, str]) -> dict[str, App]:
    """Service name → the service, not started yet. `environ` is where `$ENV.NAME` is looked up."""
    everyone = ServiceSettings(
        nats_url=chosen.nats_url,
        mongo_url=chosen.mongo_url,
        mongo_prefix=chosen.mongo_prefix,
        http_host="127.0.0.1",
        stop_timeout=STOP_TIMEOUT_S,
    ).model_dump()

    def of(service: str) -> dict[str, Any]:
        return everyone | {"nats_nkey_file": key_of(service, chosen.nats)}

    return {
        GATEWAY: trigger_gateway.app.build(
            trigger_gateway.settings.Settings(
                **of(GATEWAY),
                admin_key=SecretStr(chosen.admin_key),
                secrets_key=SecretStr(secrets_key_of(chosen.folder, environ.get("ROTA_SECRETS_KEY", ""))),
            ),
            runtime=runtime,
            environ=environ,
        ),
        "scheduler": scheduler.app.build(scheduler.settings.Settings(**of("scheduler")), runtime=runtime),
        "executor": executor.app.build(
            executor.settings.Settings(**of("executor"), connector=chosen.connector), runtime=runtime, environ=environ
        ),
        "validator": validator.app.build(validator.settings.Settings(**of("validator")), runtime=runtime),
        "delivery-center": delivery_center.app.build(
            delivery_center.settings.Settings(
                **of("delivery-center"), smtp_url=chosen.smtp_url, allow_private_targets=chosen.allow_private_targets
            ),
            runtime=runtime,
            environ=environ,
        ),
        "learner": learner.app.build(learner.settings.Settings(**of("learner")), runtime=runtime),
        "memory": memory.app.build(
            memory.settings.Settings(**of("memory"), qdrant_path=str(chosen.folder / "qdrant")), runtime=runtime
        ),
    }


async def wait_until_ready(apps: Mapping[str, App]) -> None:
    """Return when every service has all it needs; CliError after 30 s with what is missing."""
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            for app in apps.values():
                await app.service.started.wait()
    except TimeoutError as error:
        waiting = [f"{name}: {reason}" for name, reason in (await problems(apps)).items()]
        what = f"expected every service to be ready within {START_TIMEOUT_S:g} s; these wait:"
        raise CliError(what, details=waiting, hint="look after the part that is named; the log tells more") from error


async def stop_all(apps: Mapping[str, App]) -> None:
    """Let what is in hand be finished (10 s at most for each), and close the connections.

    The gateway isn't among them: it starts and stops with its HTTP side.
    """
    for together in DRAIN_ORDER:
        await asyncio.gather(*(apps[name].service.stop(STOP_TIMEOUT_S) for name in together))


async def problems(apps: Mapping[str, App]) -> dict[str, str]:
    """Service → why it isn't ready; empty when all are."""
    found = {name: await app.service.problems() for name, app in apps.items()}
    return {name: "; ".join(f"{part}: {why}" for part, why in parts.items()) for name, parts in found.items() if parts}
