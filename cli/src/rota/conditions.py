"""Parsing of typed conditions: `document.score gt 50`."""

import json

from rota.client import Json
from rota.errors import CliError
from rota_contracts.robots.events import Op

FORM = "'document.score gt 50', 'document.state in [\"new\", \"won\"]' or 'document.owner exists'"


def parse_condition(text: str) -> Json:
    """`{path, op, value}`: a value that is not JSON is a string. CliError for anything else."""
    path, op, value = [*text.split(maxsplit=2), "", "", ""][:3]
    if op not in tuple(Op):
        raise CliError(f"expected a condition like {FORM}, not {text!r}", hint=f"the operators are {', '.join(Op)}")
    if not value and op == Op.EXISTS:
        return {"path": path, "op": op, "value": True}
    try:
        return {"path": path, "op": op, "value": json.loads(value)}
    except ValueError:
        return {"path": path, "op": op, "value": value}
