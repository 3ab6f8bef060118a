"""The learner's settings."""

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """`agent_timeout`: how many seconds the learning agent may take."""

    agent_timeout: float = 120.0
