"""The files of contexts: one for each name, only for their owner, and the name of the current one."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import typer

from rota.errors import CliError

DEFAULT = "default"
"""The context of `context.json`, the only file of earlier versions."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def config_folder() -> Path:
    return Path(typer.get_app_dir("rota"))


def context_file(name: str) -> Path:
    """CliError for a name that no file can have."""
    if not NAME.fullmatch(name):
        what = f"expected a context's name of letters, digits, '.', '-' and '_', not {name!r}"
        raise CliError(what, hint="`rota context` lists the contexts")
    return config_folder() / "context.json" if name == DEFAULT else config_folder() / "contexts" / f"{name}.json"


def name_of(text: str) -> str:
    """A context's name from any text, like a folder's name or an address."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:60] or "rota"


def names() -> list[str]:
    """Those that have a file, sorted."""
    named = [path.stem for path in (config_folder() / "contexts").glob("*.json") if NAME.fullmatch(path.stem)]
    return sorted([*named, DEFAULT] if context_file(DEFAULT).exists() else named)


def current() -> str:
    """The name of the current context: `default` until another is used, and once that is forgotten."""
    try:
        name = _current_file().read_text().strip()
    except OSError:
        return DEFAULT
    return name if NAME.fullmatch(name) and context_file(name).exists() else DEFAULT


def use(name: str) -> None:
    """Make a context the current one. CliError if there is none of this name."""
    write_private(_current_file(), expected(name))


def expected(name: str) -> str:
    """The name itself. CliError if no context has it."""
    if not context_file(name).exists():
        known = ", ".join(names()) or "none"
        what = f"expected the name of a context, not {name}; there is: {known}"
        raise CliError(what, hint="`rota context` lists the contexts; `rota up` makes one")
    return name


def forget(name: str) -> None:
    """Remove a context's file. Without the current one, `default` is."""
    if current() == name:
        _current_file().unlink(missing_ok=True)
    context_file(name).unlink(missing_ok=True)


def read(name: str) -> dict[str, str]:
    """The context's fields; empty without a file. CliError if the file is unreadable."""
    path = context_file(name)
    try:
        held = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CliError(f"can't read {path}: {error}", hint="remove it, or restart `rota up`") from error
    return {str(field): str(value) for field, value in held.items()} if isinstance(held, dict) else {}


def write(name: str, values: Mapping[str, str]) -> Path:
    path = context_file(name)
    write_private(path, json.dumps(dict(values), indent=2))
    return path


def write_private(path: Path, text: str) -> None:
    """Replace the file atomically, with mode 0600 from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    beside.replace(path)


def _current_file() -> Path:
    return config_folder() / "current-context"
