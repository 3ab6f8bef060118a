"""The context of commands: address and keys from a file that `rota up` writes, overridden by ROTA_* variables."""

import os
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from rota import context_files
from rota.errors import CliError

NAME_VARIABLE = "ROTA_CONTEXT"

VARIABLES = {
    "url": "ROTA_URL",
    "team": "ROTA_TEAM",
    "api_key": "ROTA_API_KEY",
    "admin_key": "ROTA_ADMIN_KEY",
    "nats_url": "ROTA_NATS_URL",
    "mongo_url": "ROTA_MONGO_URL",
    "nats_config": "ROTA_NATS_CONFIG",
    "nats_nkey_file": "ROTA_NATS_NKEY_FILE",
    "nats_ca_file": "ROTA_NATS_CA_FILE",
}

SERVERS = ("nats_url", "mongo_url", "nats_config", "nats_nkey_file", "nats_ca_file")
"""Those of a file are of no use for a Rota at another address."""


NEEDED = {
    "admin_key": (
        "the administrator's key: ",
        "set ROTA_ADMIN_KEY to the key that the gateway has in its ROTA_ADMIN_KEY (compose: in `.env`)",
    ),
    "api_key": ("a key of the team: ", "set ROTA_API_KEY to a key of the team ROTA_TEAM"),
    "nats_url": (
        "the address of NATS: ",
        "set ROTA_NATS_URL and ROTA_NATS_CONFIG, the folder of `rota nats-config`",
    ),
    "nats_config": (
        "NATS's configuration: ",
        "set ROTA_NATS_CONFIG, or --config, to the folder of `rota nats-config`: a single key doesn't do",
    ),
}
"""What a missing field is, and what to do about it."""


@dataclass(frozen=True)
class Context:
    """An empty field is not set. The two servers, `nats_config`, the folder with the keys of NATS, `nats_nkey_file`,
    one key of it, and `nats_ca_file`, the authority of its certificate, are only for `rota doctor`, `rota upgrade` and
    `rota feed-clients`. So are `model` and `smtp_url`, without its password, of the `rota up` that wrote the file."""

    url: str = ""
    team: str = ""
    api_key: str = ""
    admin_key: str = ""
    nats_url: str = ""
    mongo_url: str = ""
    nats_config: str = ""
    nats_nkey_file: str = ""
    nats_ca_file: str = ""
    model: str = ""
    smtp_url: str = ""

    def need(self, *names: str) -> "Context":
        """Itself; CliError if one of these fields is empty."""
        for name in names:
            if not getattr(self, name):
                what, hint = NEEDED.get(name, ("", f"set {VARIABLES[name]}"))
                if not self.url:
                    hint = f"start Rota here with `rota up`, or for a Rota elsewhere {hint}"
                if known := ", ".join(context_files.names()):
                    hint += f"; `rota context use NAME` chooses a context: {known}"
                file = context_files.context_file(selected())
                raise CliError(f"expected {what}{VARIABLES[name]}, or {name} in {file}: neither is set", hint=hint)
        return self


_chosen: ContextVar[str] = ContextVar("_chosen", default="")


def choose(name: str) -> Token[str]:
    """The context of this command, by the option `--context`; empty: none is chosen."""
    return _chosen.set(name)


def end_choice(token: Token[str]) -> None:
    _chosen.reset(token)


def chosen() -> str:
    """The name that `--context` gives, or empty."""
    return _chosen.get()


def selected(environ: Mapping[str, str] = os.environ) -> str:
    """The name of the context in use: by the option, by ROTA_CONTEXT, else the current one."""
    named = chosen() or environ.get(NAME_VARIABLE, "")
    return context_files.expected(named) if named else context_files.current()


def load(environ: Mapping[str, str] = os.environ) -> Context:
    """The fields of the context in use, each overridden by its variable. CliError when its file is unreadable."""
    from_file = context_files.read(selected(environ))
    if (url := environ.get(VARIABLES["url"])) and not same_address(url, from_file.get("url", "")):
        from_file = {name: value for name, value in from_file.items() if name not in SERVERS}
    values = {name: environ.get(variable) or from_file.get(name, "") for name, variable in VARIABLES.items()}
    return Context(**values)


def own_rota(given: Context) -> Context | None:
    """The context that a `rota up` of this machine wrote, if it is the one that commands act on."""
    own = saved(selected())
    return own if own.mongo_url and same_address(own.url, given.url) else None


def origin(field: str, environ: Mapping[str, str] = os.environ) -> str:
    """Where a field that is set comes from: its variable, or the context's file."""
    variable = VARIABLES[field]
    return variable if environ.get(variable) else f"{field} in {context_files.context_file(selected())}"


def same_address(url: str, other: str) -> bool:
    return _plain(url) == _plain(other)


def _plain(url: str) -> str:
    return url.rstrip("/").replace("//localhost", "//127.0.0.1")


def saved(name: str) -> Context:
    """A context as its file holds it; its fields are empty if there is none."""
    known = {field.name for field in fields(Context)}
    return Context(**{field: value for field, value in context_files.read(name).items() if field in known})


def save(context: Context, name: str) -> Path:
    """Write the file of this name. Only its owner can read it, as it holds keys."""
    return context_files.write(name, asdict(context))


def forget(context: Context, name: str) -> None:
    """Remove the file of this name if it still refers to this Rota."""
    if saved(name).url == context.url:
        context_files.forget(name)
