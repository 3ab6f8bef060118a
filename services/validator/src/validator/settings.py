"""The validator's settings."""

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """In seconds: how long a rule's regular expression may compute, and the validation agent may take."""

    pattern_seconds: float = 1.0
    agent_timeout: float = 120.0
