"""The validator's settings."""

from rota_common.settings import ServiceSettings


class Settings(ServiceSettings):
    """`pattern_seconds`: how long one regular expression of a rule may compute."""

    pattern_seconds: float = 1.0
