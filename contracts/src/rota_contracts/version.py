"""The version of Rota: the only place that says it. Each package's pyproject.toml reads it from here."""

VERSION = "0.2.0.dev0"
