"""The gateway's settings."""

from pathlib import Path

from pydantic import Field, SecretStr

from rota_common.runtime.settings import ServiceSettings
from rota_contracts.streams import MIB

DATABASES = ("gateway", "scheduler", "executor", "delivery", "learner", "memory")
"""Of all services, with the prefix."""


class Settings(ServiceSettings):
    """`admin_key` enables the administrator's routes; without it they are closed. Times in seconds.

    `secrets_key` seals the secrets of teams and of sources: one key, or several with commas between, of which the first
    one seals. `secrets_key_file` holds such keys, one a line, behind those; a missing file is made. Without both no
    secret can be stored. `secrets_dir` holds the secrets that the operator gives to teams: `<team>/<NAME>`.
    """

    admin_key: SecretStr | None = None
    secrets_key: SecretStr | None = None
    secrets_key_file: Path | None = None
    secrets_dir: Path | None = None
    sweep_interval: float = 2.0
    heartbeat: float = 15.0
    trusted_proxies: str = Field(
        default="", description="networks whose X-Forwarded-For is trusted, as CIDRs with commas between"
    )
    rate_per_address: int = Field(
        default=3000, ge=0, description="webhooks and callbacks a minute from one address; 0: no limit"
    )
    rate_per_source: int = Field(
        default=6000, ge=0, description="events a minute of a source that has no rate_limit; 0: no limit"
    )
    webhooks_at_once: int = Field(default=1000, ge=1, description="handled at the same time; others get a 503")
    reading_lease: float = Field(
        default=10.0, gt=0, description="seconds after which another replica takes over the databases of a dead one"
    )
    attachment_limit: int = Field(default=25 * MIB, gt=0, description="bytes of one attachment")

    @property
    def own_databases(self) -> frozenset[str]:
        """The names of Rota's databases, and of MongoDB's own, in lower case."""
        ours = (f"{self.mongo_prefix}_{name}".lower() for name in DATABASES)
        return frozenset((*ours, "admin", "config", "local"))
