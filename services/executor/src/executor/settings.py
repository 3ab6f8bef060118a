"""The executor's settings."""

from pathlib import Path

from pydantic import Field

from rota_common.runtime.settings import Cidrs
from rota_common.spans.settings import TraceSettings
from rota_contracts.streams import KEEP_DAYS


class Settings(TraceSettings):
    """`connector` is the model behind every agent that doesn't name its own; times in seconds. `capacity`: executions
    that this executor takes at once; the scheduler grants no more slots than the live executors have together."""

    connector: str = ""
    connectors_dir: Path | None = None
    agents_dir: Path | None = None
    mcp_dir: Path | None = None
    skills_dir: Path | None = Field(default=None, description="folder of skills, in place of skills in that of agents")
    ceilings_file: Path | None = Field(default=None, description="YAML: what each team's calls of models may take")
    hooks: str = Field(default="", description="the platform's hooks in their order: names, separated by commas")
    allow_private_targets: Cidrs = Field(
        default="",
        description="networks that teams' own connectors may be in although they are private, as CIDRs with commas",
    )
    slots: int = 64
    capacity: int = Field(default=100, ge=1)
    lease: float = Field(default=4.0, gt=0)
    sweep_interval: float = 1.0
    answer_patience: float = 60.0
    keep_days: int = Field(default=KEEP_DAYS, ge=1, description="days that an execution is kept once it is over")
