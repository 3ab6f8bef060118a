"""What came of it: a table of the kills, what went wrong in words, and the figures as one line of JSON."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from tests.chaos.controller import Kill
from tests.chaos.fault_points import KINDS, Kind
from tests.chaos.robots import TARGETS
from tests.chaos.scoreboard import Book, Entry
from tests.chaos.witness import Witness

SHOWN, SLOWEST = 10, 3
ZERO = ("lost", "repeated_steps", "doubled_deliveries")


def recovery(kill: Kill, book: Book) -> float | None:
    """Seconds from the kill to the end of the execution that was hit; None if it never ended."""
    ends = [book.entries[lead].ended_at for lead in kill.leads]
    if not ends or any(end is None for end in ends):
        return None
    return max(0.0, max(end for end in ends if end is not None) - kill.at)


def undelivered(book: Book, witness: Witness) -> list[tuple[Entry, set[str]]]:
    """Completed executions, and the targets that never got their result."""
    completed = [entry for entry in book.entries.values() if entry.accepted and entry.status == "completed"]
    return [(entry, missing) for entry in completed if (missing := set(TARGETS) - witness.reached(entry.lead))]


def figures(book: Book, witness: Witness, kills: list[Kill]) -> dict[str, Any]:
    """The last line. Lost is an accepted execution that never ended, or completed with a target that got nothing."""
    counts = book.counts()
    seconds = [found for kill in kills if (found := recovery(kill, book)) is not None]
    return {
        "accepted": counts["accepted"],
        "ended": counts["ended"],
        "lost": counts["accepted"] - counts["ended"] + len(undelivered(book, witness)),
        "repeated_steps": len(witness.repeated),
        "doubled_deliveries": len(witness.doubled) + len(book.two_executions),
        "kills": len(kills),
        "recovery_p50_s": round(median(seconds), 2) if seconds else None,
        "recovery_max_s": round(max(seconds), 2) if seconds else None,
    }


def table(book: Book, kills: list[Kill]) -> Iterable[str]:
    """A line for each service and kind of step."""
    found: defaultdict[Kind, list[Kill]] = defaultdict(list)
    for kill in kills:
        found[kill.kind].append(kill)
    yield f"{'killed':<17}{'at':<30}{'times':>6}{'recovery, median':>19}"
    for kind in KINDS:
        seconds = [took for kill in found[kind] if (took := recovery(kill, book)) is not None]
        text = f"{median(seconds):.1f} s" if seconds else "-"
        yield f"{kind.victim:<17}{kind.step:<30}{len(found[kind]):>6}{text:>19}"


def slowest(book: Book, kills: list[Kill]) -> Iterable[str]:
    """Where the longest recoveries were, with the lead that ended last: what to look for in the logs."""
    known = [(took, kill) for kill in kills if (took := recovery(kill, book)) is not None]
    for took, kill in sorted(known, key=lambda each: -each[0])[:SLOWEST]:
        last = max((book.entries[lead] for lead in kill.leads), key=lambda entry: entry.ended_at or 0)
        yield f"  {took:.1f} s after {kill.kind.name}: {last.lead}, execution {last.execution_id}"


def findings(book: Book, witness: Witness, *, rejected: list[str], buried: list[str]) -> Iterable[str]:
    """What a reader should know, worst first."""
    missing = [f"{entry.lead}: nothing came to {', '.join(sorted(gone))}" for entry, gone in undelivered(book, witness)]
    for title, lines in (
        ("steps that ran again", witness.repeated),
        ("deliveries under two ids", witness.doubled),
        ("webhooks that became two executions", book.two_executions),
        ("completed, but not delivered", missing),
        ("triggers that were refused", rejected),
        ("dead letters", buried),
    ):
        if lines:
            yield f"{title}: {len(lines)}"
            yield from (f"  {line}" for line in lines[:SHOWN])
    yield from _ends(book)
    if witness.retries:
        yield "tried again in the middle of a step, as it should be: " + ", ".join(
            f"{name} {number}" for name, number in sorted(witness.retries.items())
        )


def _ends(book: Book) -> Iterable[str]:
    statuses = Counter(entry.status or "not ended" for entry in book.entries.values() if entry.accepted)
    yield "executions: " + ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    errors = Counter(_without_names(entry.error) for entry in book.entries.values() if entry.status == "failed")
    for error, number in errors.most_common(SHOWN):
        yield f"  {number} failed: {error}"


def _without_names(error: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "…", re.sub(r"lead-\d{5}", "lead-…", error))[:200]
