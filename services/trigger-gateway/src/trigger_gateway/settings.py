"""The gateway's settings."""

from pydantic import SecretStr

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """`admin_key` opens the administrator's routes; without it they are closed. Times in seconds."""

    admin_key: SecretStr | None = None
    sweep_interval: float = 2.0
    heartbeat: float = 15.0


def own_variables() -> frozenset[str]:
    """The environment variables that hold Rota's own settings."""
    return frozenset(f"ROTA_{name.upper()}" for name in Settings.model_fields)
