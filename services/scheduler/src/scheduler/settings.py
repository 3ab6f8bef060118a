"""The scheduler's settings."""

from pydantic import Field

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """`pool`: executions that may run at once in the whole installation. Times in seconds."""

    pool: int = Field(default=10, ge=1)
    lease: float = 2.0
    republish_after: float = 60.0
