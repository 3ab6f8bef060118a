"""The reason in the log of a server that did not start: mongod writes JSON, nats-server lines with a level."""

import contextlib
import json

MONGO_ERRORS = ("E", "F")
NATS_ERRORS = ("[FTL]", "[ERR]", "nats-server: ")
SHOWN = 500


def last_error(text: str) -> str:
    """The last line that says an error; empty if none does."""
    for line in reversed(text.splitlines()):
        if found := _mongod(line) or _nats(line):
            return found[:SHOWN]
    return ""


def _mongod(line: str) -> str:
    with contextlib.suppress(ValueError, AttributeError):
        entry = json.loads(line)
        if entry.get("s") in MONGO_ERRORS:
            error = (entry.get("attr") or {}).get("error")
            said = error if isinstance(error, str) else json.dumps(error) if error else ""
            return ": ".join(part for part in (str(entry.get("msg", "")), said) if part)
    return ""


def _nats(line: str) -> str:
    for mark in NATS_ERRORS:
        if mark in line:
            return line.partition(mark)[2].strip()
    return ""
