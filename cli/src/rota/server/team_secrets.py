"""Secrets of the first team of `rota up`: the operator and the team are the same person here."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rota.errors import CliError
from rota_contracts.secret_refs import secret_name

QUOTES = "\"'"


def given_secrets(env_file: Path | None, names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Everything in the file (`NAME=value`, a line each), and the variables of these names."""
    found = _read(env_file) if env_file is not None else {}
    for name in names:
        if not environ.get(name):
            what = f"expected the environment variable {name} (--secret {name}): it is not set"
            raise CliError(what, hint="export it, or write it into a file for --env-file")
        found[name] = environ[name]
    return found


def _read(file: Path) -> dict[str, str]:
    try:
        lines = file.expanduser().read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"can't read {file}: {error}", hint="expected a file with NAME=value, a line each") from error
    found = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip().removeprefix("export ").strip()
        if not text or text.startswith("#"):
            continue
        name, equals, value = text.partition("=")
        if not equals or secret_name(f"$SECRET.{name.strip()}") is None:
            raise CliError(
                f"can't read line {number} of {file}: expected NAME=value", hint="a name has letters, digits and _"
            )
        found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] in QUOTES and value[-1] == value[0]
    return value[1:-1] if quoted else value
