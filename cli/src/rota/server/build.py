"""The seven services, built for one process. Apart from `services`, because importing them takes seconds."""

from collections.abc import Mapping
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
from rota.server.servers import key_of
from rota.server.services import GATEWAY, STOP_TIMEOUT_S, StackSettings
from rota_common.runtime.service import Runtime
from rota_common.runtime.serving import App
from rota_common.runtime.settings import ServiceSettings


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
            executor.settings.Settings(
                **of("executor"),
                connector=settings.connector,
                allow_private_targets=settings.allow_private_targets,
            ),
            runtime=runtime,
            environ=environ,
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
