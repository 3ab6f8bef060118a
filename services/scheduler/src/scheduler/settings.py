"""The scheduler's settings."""

from pydantic import Field

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """`pool`: executions that may run at once in the whole installation. Times in seconds.

    `tick_every`: how often each replica checks for due clocks; `tick_lag`: how long the others leave them to the
    replica that dispatches. `refresh`: how often all robots are read anew. `slot_patience`: how long an execution may
    hold a slot without a report until the executor is asked about it. `backlog_per_robot`, `backlog_per_team`: accepted
    events that may wait for their first slot; beyond it gateways refuse more.
    """

    pool: int = Field(default=10, ge=1)
    backlog_per_robot: int = Field(default=1000, ge=1)
    backlog_per_team: int = Field(default=10_000, ge=1)
    lease: float = Field(default=2.0, gt=0)
    republish_after: float = 60.0
    tick_every: float = Field(default=0.5, gt=0)
    tick_lag: float = Field(default=2.0, ge=0)
    refresh: float = Field(default=3600.0, gt=0)
    slot_patience: float = Field(default=15.0, gt=0)
