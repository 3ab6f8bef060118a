"""The settings that every service has, read once in `__main__` from variables that begin with ROTA_."""

from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from rota_common.urls import networks

LEVELS = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")


def _cidrs(text: str) -> str:
    try:
        networks(text)
    except ValueError as error:
        raise ValueError(f"networks as CIDRs with commas between, like 10.0.0.0/8 ({error})") from None
    return text


def _level(text: str) -> str:
    if text.upper() not in LEVELS:
        raise ValueError(f"one of {', '.join(LEVELS)}")
    return text


def _mongo(url: str) -> str:
    if url and not url.startswith(("mongodb://", "mongodb+srv://")):
        raise ValueError("mongodb://host[:port][/?options] or mongodb+srv://…")
    return url


Cidrs = Annotated[str, AfterValidator(_cidrs)]
"""Networks with commas between, which `rota_common.urls.networks` reads."""


class ServiceSettings(BaseSettings):
    """`nats_url` and `mongo_url` are the two servers; the HTTP port serves health and metrics.

    `http_at_once`: connections and requests at once, beyond which the answer is a 503; 0: no limit.

    `nats_nkey_file` holds the service's seed; empty: the server has no authentication. `nats_ca_file` holds the
    authority of NATS's certificate: then the connection is TLS from its first byte. `mongo_password_file` holds the
    password of the user that is named as the service's database; empty: `mongo_url` says all. `handling_limit`: seconds
    after which the handler of a message is ended, and the message handed back.
    """

    model_config = SettingsConfigDict(env_prefix="ROTA_", frozen=True, extra="ignore", hide_input_in_errors=True)

    nats_url: str = "nats://localhost:4222"
    nats_nkey_file: str = ""
    nats_ca_file: str = ""
    mongo_url: Annotated[str, AfterValidator(_mongo)] = "mongodb://localhost:27017"
    mongo_password_file: str = ""
    mongo_prefix: str = "rota"
    http_host: str = "0.0.0.0"  # noqa: S104  # a container listens to its pod; the laptop commands pass 127.0.0.1
    http_port: int = Field(default=8080, ge=0, le=65_535)
    http_at_once: int = 2000
    log_level: Annotated[str, AfterValidator(_level)] = "INFO"
    stop_timeout: float = 25.0
    handling_limit: float = Field(default=6 * 3600.0, gt=0)
