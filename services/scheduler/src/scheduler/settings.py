"""The scheduler's settings."""

from pydantic import Field

from rota_common.runtime.settings import ServiceSettings


class Settings(ServiceSettings):
    """`pool`: executions that may run at once in the whole installation. Times in seconds.

    `tick_every`: how often each replica looks for what is due; `tick_lag`: how long those that don't dispatch leave it
    to the one that does. `refresh`: how often all robots are read anew. `slot_patience`: how long nothing may be heard
    of an execution that holds a slot before its executor is asked.
    """

    pool: int = Field(default=10, ge=1)
    lease: float = Field(default=2.0, gt=0)
    republish_after: float = 60.0
    tick_every: float = Field(default=0.5, gt=0)
    tick_lag: float = Field(default=2.0, ge=0)
    refresh: float = Field(default=3600.0, gt=0)
    slot_patience: float = Field(default=15.0, gt=0)
