"""The seven services in one process: their settings, readiness, and the order in which they drain."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rota.errors import CliError
from rota_common.nats_admin.config import Folder
from rota_common.runtime.serving import App

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
