"""The learner's settings."""

from pydantic import Field

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """In seconds: how long the learning agent and the dedup agent may take. The latter must leave time for an answer
    within the 60 s of the question that it is asked for."""

    agent_timeout: float = 120.0
    dedup_timeout: float = Field(default=45.0, gt=0, le=50)
