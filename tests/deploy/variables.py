"""The environment variables that a service reads, from its own settings."""

from importlib import import_module


def read_by(service: str) -> set[str]:
    settings = import_module(f"{service.replace('-', '_')}.settings").Settings
    return {f"ROTA_{name.upper()}" for name in settings.model_fields}
