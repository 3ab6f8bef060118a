"""The learner's settings."""

from pydantic import Field

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """All in seconds."""

    agent_timeout: float = Field(default=120.0, description="how long the learning agent may take")
    dedup_timeout: float = Field(
        default=45.0, gt=0, le=50, description="how long the dedup agent may take, within the 60 of the question"
    )
    retention_interval: float = Field(
        default=3600.0, gt=0, description="between two looks for what robots keep no longer (`learn.keep`)"
    )
