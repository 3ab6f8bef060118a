"""Parts of a run that no step changes any more: they move from its document into segments, and null is in their place.

A place is the path of a part in the run's document, as `run.execution.results.0.turns.2`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_jsonable_python

from executor.domain.run import Run
from executor.domain.tasks.tasks import FINAL
from rota_common.stores.mongo import Document
from rota_contracts.messages.conversation import Round, Turn

Fields = Mapping[str, Any]


def still_apart(apart: Collection[str], fields: Fields) -> frozenset[str]:
    """The places that an update of these fields leaves null."""
    written = tuple(f"{field}." for field in fields)
    return frozenset(at for at in apart if not f"{at}.".startswith(written))


def moving(run: Run, fields: Fields) -> dict[str, Any]:
    """The parts to move with an update of these fields, by their places: those that it leaves as they are stored."""
    apart = run.layout.apart
    parts = ((at, part) for at, part in _done(run) if at not in apart and not _touched(at, fields))
    return {at: _dumped(at, part, apart) for at, part in parts}


def moved(apart: Collection[str], parts: Iterable[str]) -> frozenset[str]:
    """The places that are null once these parts have moved as well; a part's own parts have no place any more."""
    outer = tuple(f"{at}." for at in parts)
    return frozenset(at for at in apart if not at.startswith(outer)) | frozenset(parts)


def fill(document: Document, segments: Sequence[Document]) -> frozenset[str]:
    """Put the parts of these segments, oldest first, where the document is null; returns those places."""
    parts = {part["at"]: part["value"] for segment in segments for part in segment["parts"]}
    filled = [at for at in sorted(parts, key=lambda at: at.count(".")) if _filled(document, at.split("."), parts[at])]
    return frozenset(at for at in filled if not at.startswith(tuple(f"{other}." for other in filled)))


def _filled(document: Document, path: Sequence[str], value: Any) -> bool:
    place: Any = document
    try:
        for name in path[:-1]:
            place = place[int(name)] if isinstance(place, list) else place[name]
        null = place[int(path[-1])] is None
    except IndexError:
        null = False
    if null:  # otherwise it was written again since
        place[int(path[-1])] = value
    return null


def _done(run: Run) -> Iterator[tuple[str, Turn | Round]]:
    """Turns that are over, and the rounds of the one in hand but for the last. A part has no part beside it here."""
    for number, result in enumerate(run.execution.results):
        at, over = f"run.execution.results.{number}.turns", result.status in FINAL
        turns = result.turns if over else result.turns[:-1]
        yield from ((f"{at}.{n}", turn) for n, turn in enumerate(turns))
        if not over and result.turns:
            rounds = result.turns[-1].rounds[:-1]
            yield from ((f"{at}.{len(turns)}.rounds.{n}", each) for n, each in enumerate(rounds))


def _touched(at: str, fields: Fields) -> bool:
    return any(f"{at}.".startswith(f"{field}.") or field.startswith(f"{at}.") for field in fields)


def _dumped(at: str, part: Turn | Round, apart: Collection[str]) -> Any:
    """As it is stored: without the rounds that have moved before."""
    dumped = to_jsonable_python(part)
    if isinstance(part, Turn):
        rounds = enumerate(dumped["rounds"])
        dumped["rounds"] = [None if f"{at}.rounds.{n}" in apart else each for n, each in rounds]
    return dumped
