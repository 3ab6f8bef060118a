"""The executor's settings."""

from pathlib import Path

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """`connector` is the model behind every agent that doesn't name its own; times in seconds."""

    connector: str = ""
    connectors_dir: Path | None = None
    agents_dir: Path | None = None
    mcp_dir: Path | None = None
    slots: int = 64
    lease: float = 10.0
    sweep_interval: float = 1.0
    answer_patience: float = 60.0
