"""The validator's settings."""

from pydantic import Field

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """In seconds: how long a rule's regular expression may compute, a script run, and the validation agent take."""

    pattern_seconds: float = Field(default=1.0, gt=0)
    scripts_dir: str = ""
    script_seconds: float = Field(default=2.0, gt=0)
    script_memory_mb: int = Field(default=128, ge=32)
    agent_timeout: float = 120.0
