"""Ids by their first characters: looked up among the newest items that the API lists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rota.client import Api, Json
from rota.errors import CliError
from rota.running import with_api

BEGINNING = re.compile(r"[0-9a-f]{4}[0-9a-f-]{0,31}")
"""Of an id: shorter than a whole one, and at least 4 characters. Anything else is taken as it is."""

PAGES = 3
SHOWN = 10
"""At most so many matches are listed."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A list of the API: its path, the field of its items, an item's id and what else identifies it to a person."""

    noun: str
    path: str
    items: str
    id: str
    about: tuple[str, ...]
    limit: int = 100
    which: str = "of the newest"


EXECUTION = Kind(
    noun="execution",
    path="/executions",
    items="executions",
    id="execution_id",
    about=("member_id", "status", "created_at"),
)
DELIVERY = Kind(
    noun="delivery",
    path="/deliveries",
    items="deliveries",
    id="request_id",
    about=("member_id", "state", "created_at"),
)
QUARANTINED = Kind(
    noun="result in quarantine",
    path="/quarantine",
    items="results",
    id="quarantine_id",
    about=("member_id", "status", "task"),
)
APPROVAL = Kind(
    noun="approval",
    path="/approvals",
    items="approvals",
    id="approval_id",
    about=("member_id", "tool"),
    limit=200,
    which="that waits, of the first",
)


def whole_id(kind: Kind, text: str) -> str:
    """The id that begins with `text`. CliError if none does, or several do."""
    if not BEGINNING.fullmatch(text):
        return text
    listed = with_api(lambda api: _listed(api, kind))
    found = {item[kind.id]: item for item in listed if item[kind.id].startswith(text)}
    if len(found) == 1:
        return str(next(iter(found)))
    if not found:
        what = f"expected the beginning of an id: no {kind.noun} {kind.which} {len(listed)} begins with {text}"
        raise CliError(what, hint="give the whole id: --json prints it, and so does a list in a pipe")
    raise CliError(
        f"expected the beginning of one id: {text} is that of {len(found)}",
        details=_lines(kind, list(found.values())),
        hint="give more characters",
    )


async def _listed(api: Api, kind: Kind) -> list[Json]:
    found: list[Json] = []
    after = ""
    for _ in range(PAGES):
        page = await api.of_team("GET", kind.path, params={"limit": kind.limit, "after": after})
        found += page[kind.items]
        if not (after := page.get("next") or ""):
            break
    return found


def _lines(kind: Kind, matches: Sequence[Json]) -> list[str]:
    lines = ["  ".join(str(match.get(field, "")) for field in (kind.id, *kind.about)) for match in matches[:SHOWN]]
    return [*lines, f"… and {len(matches) - SHOWN} more"] if len(matches) > SHOWN else lines
