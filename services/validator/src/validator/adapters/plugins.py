"""Plug-ins: assertion types of other installed packages, by the entry point group `rota.assertions`."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from rota_common.runtime.logs import logger
from rota_contracts.messages.validation import Assertion
from validator.assertions import BUILT_IN, BuiltIn
from validator.kinds import Faulty, Kind, Output

GROUP = "rota.assertions"


def load_plugins() -> dict[str, Kind]:
    """Type → kind. One that can't be loaded is included; its check fails with the reason."""
    log = logger(service="validator")
    found: dict[str, Kind] = {}
    for entry in entry_points(group=GROUP):
        if entry.name in BUILT_IN:
            log.warning("assertion type left out", type=entry.name, reason="it is built in: choose another name")
        else:
            found[entry.name] = _load(entry)
    return found


def _load(entry: EntryPoint) -> Kind:
    try:
        loaded: Any = entry.load()
    except Exception as error:  # an import may fail in any way, and the other types are needed still
        return _broken(entry, f"{type(error).__name__}: {error}")
    if callable(getattr(loaded, "wish", None)) and callable(getattr(loaded, "check", None)):
        kind: Kind = loaded
        return kind
    return _broken(entry, "expected an object with `wish` and `check`, as validator.kinds.Kind describes")


def _broken(entry: EntryPoint, reason: str) -> Kind:
    logger(service="validator").warning("assertion type can't be used", type=entry.name, reason=reason)

    def check(assertion: Assertion, output: Output) -> bool:
        raise Faulty(f"the type '{entry.name}' ({entry.value}) can't be loaded: {reason}")

    return BuiltIn(lambda assertion: f"pass the assertion {entry.name}", check)
