"""The context of commands: address and keys from the file that `rota up` writes, overridden by ROTA_* variables."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import typer

from rota.errors import CliError

VARIABLES = {
    "url": "ROTA_URL",
    "team": "ROTA_TEAM",
    "api_key": "ROTA_API_KEY",
    "admin_key": "ROTA_ADMIN_KEY",
    "nats_url": "ROTA_NATS_URL",
    "mongo_url": "ROTA_MONGO_URL",
    "nats_config": "ROTA_NATS_CONFIG",
    "nats_ca_file": "ROTA_NATS_CA_FILE",
}


@dataclass(frozen=True)
class Context:
    """An empty field is not set. The two servers, `nats_config`, the folder with the keys of NATS, and `nats_ca_file`,
    the authority of its certificate, are only for `rota doctor` and `rota feed-clients`."""

    url: str = ""
    team: str = ""
    api_key: str = ""
    admin_key: str = ""
    nats_url: str = ""
    mongo_url: str = ""
    nats_config: str = ""
    nats_ca_file: str = ""

    def need(self, *names: str) -> "Context":
        """Itself; CliError if one of these fields is empty."""
        for name in names:
            if not getattr(self, name):
                raise CliError(
                    f"expected {VARIABLES[name]}, or a {name} in {context_file()}: neither is set",
                    hint="start Rota here with `rota up`, or set the variable for a Rota elsewhere",
                )
        return self


def context_file() -> Path:
    return Path(typer.get_app_dir("rota")) / "context.json"


def load(environ: Mapping[str, str] = os.environ) -> Context:
    """The file's fields, each overridden by its variable. CliError when the file is unreadable."""
    from_file = _read(context_file())
    values = {name: environ.get(variable) or from_file.get(name, "") for name, variable in VARIABLES.items()}
    return Context(**values)


def save(context: Context) -> Path:
    """Write the file. Only its owner can read it, as it holds keys."""
    write_private(context_file(), json.dumps(asdict(context), indent=2))
    return context_file()


def forget(context: Context) -> None:
    """Remove the file if it still refers to this Rota."""
    if _read(context_file()).get("url") == context.url:
        context_file().unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Replace the file atomically, with mode 0600 from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    beside.replace(path)


def _read(path: Path) -> dict[str, str]:
    try:
        held = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CliError(f"can't read {path}: {error}", hint="remove it, or restart `rota up`") from error
    known = {field.name for field in fields(Context)}
    return {name: str(value) for name, value in held.items() if name in known} if isinstance(held, dict) else {}
