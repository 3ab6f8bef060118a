"""The validator's settings."""

from pydantic import Field

from rota_common.runtime.settings import ServiceSettings
from validator.fair_slots import AT_ONCE, PER_TEAM


class Settings(ServiceSettings):
    """In seconds: how long a rule's regular expression may compute, a script run, and the validation agent take."""

    pattern_seconds: float = Field(default=1.0, gt=0)
    scripts_dir: str = ""
    script_seconds: float = Field(default=2.0, gt=0)
    script_memory_mb: int = Field(default=128, ge=32)
    checks_at_once: int = Field(default=AT_ONCE, ge=1, description="requests whose patterns and scripts run at once")
    checks_per_team: int = Field(default=PER_TEAM, ge=1, description="of them those of one team")
    agent_timeout: float = 120.0
