"""The report: a table of the kills, the findings in words, and the figures as one line of JSON."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Any

from tests.chaos.controller import Kill
from tests.chaos.fault_points import KILLS, POINTED, FaultPoint
from tests.chaos.robots import TARGETS
from tests.chaos.scoreboard import Entry, Scoreboard
from tests.chaos.witness import Witness

SHOWN, SLOWEST = 10, 3
ZERO = ("lost", "repeated_steps", "doubled_deliveries", "poison_not_buried")


def recovery(kill: Kill, scoreboard: Scoreboard) -> float | None:
    """Seconds from the kill to the end of the execution that was hit; None if it never ended."""
    ends = [scoreboard.entries[lead].ended_at for lead in kill.leads]
    if not ends or any(end is None for end in ends):
        return None
    return max(0.0, max(end for end in ends if end is not None) - kill.at)


def undelivered(scoreboard: Scoreboard, witness: Witness) -> list[tuple[Entry, set[str]]]:
    """Completed executions, and the targets that never received their result."""
    completed = [entry for entry in scoreboard.entries.values() if entry.accepted and entry.status == "completed"]
    return [(entry, missing) for entry in completed if (missing := set(TARGETS) - witness.reached(entry.lead))]


def figures(scoreboard: Scoreboard, witness: Witness, kills: list[Kill]) -> dict[str, Any]:
    """The last line. Lost: an accepted execution that never ended, or completed with a target that received nothing."""
    counts = scoreboard.counts()
    found: dict[str, Any] = {
        "accepted": counts["accepted"],
        "ended": counts["ended"],
        "lost": counts["accepted"] - counts["ended"] + len(undelivered(scoreboard, witness)),
        "repeated_steps": len(witness.repeated),
        "doubled_deliveries": len(witness.doubled) + len(scoreboard.two_executions),
    }
    for kind in POINTED:
        prefix = "" if kind == KILLS else f"{kind.removesuffix('s')}_"
        those = [kill for kill in kills if kill.point.kind == kind]
        seconds = [took for kill in those if (took := recovery(kill, scoreboard)) is not None]
        found |= {
            kind: len(those),
            f"{prefix}recovery_p50_s": round(median(seconds), 2) if seconds else None,
            f"{prefix}recovery_max_s": round(max(seconds), 2) if seconds else None,
        }
    return found


def table(scoreboard: Scoreboard, kills: list[Kill], points: Iterable[FaultPoint]) -> Iterable[str]:
    """A line for each fault point."""
    found: defaultdict[FaultPoint, list[Kill]] = defaultdict(list)
    for kill in kills:
        found[kill.point].append(kill)
    yield f"{'hit':<17}{'at':<30}{'times':>6}{'recovery, median':>19}"
    for point in points:
        seconds = [took for kill in found[point] if (took := recovery(kill, scoreboard)) is not None]
        text = f"{median(seconds):.1f} s" if seconds else "-"
        yield f"{point.victim:<17}{point.step:<30}{len(found[point]):>6}{text:>19}"


def slowest(scoreboard: Scoreboard, kills: list[Kill]) -> Iterable[str]:
    """The longest recoveries, each with the lead that ended last, to search the logs for."""
    known = [(took, kill) for kill in kills if (took := recovery(kill, scoreboard)) is not None]
    for took, kill in sorted(known, key=lambda each: -each[0])[:SLOWEST]:
        last = max((scoreboard.entries[lead] for lead in kill.leads), key=lambda entry: entry.ended_at or 0)
        yield f"  {took:.1f} s after {kill.point.name}: {last.lead}, execution {last.execution_id}"


def findings(scoreboard: Scoreboard, witness: Witness, *, rejected: list[str], buried: list[str]) -> Iterable[str]:
    """The findings, worst first."""
    missing = [
        f"{entry.lead}: nothing reached {', '.join(sorted(gone))}" for entry, gone in undelivered(scoreboard, witness)
    ]
    for title, lines in (
        ("steps that ran again", witness.repeated),
        ("deliveries under two ids", witness.doubled),
        ("webhooks that became two executions", scoreboard.two_executions),
        ("completed, but not delivered", missing),
        ("triggers that were refused", rejected),
        ("dead letters", buried),
    ):
        if lines:
            yield f"{title}: {len(lines)}"
            yield from (f"  {line}" for line in lines[:SHOWN])
    yield from _ends(scoreboard)
    if witness.retries:
        yield "tried again in the middle of a step, as it should be: " + ", ".join(
            f"{name} {number}" for name, number in sorted(witness.retries.items())
        )


def _ends(scoreboard: Scoreboard) -> Iterable[str]:
    statuses = Counter(entry.status or "not ended" for entry in scoreboard.entries.values() if entry.accepted)
    yield "executions: " + ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    errors = Counter(_without_names(entry.error) for entry in scoreboard.entries.values() if entry.status == "failed")
    for error, number in errors.most_common(SHOWN):
        yield f"  {number} failed: {error}"
    questions = Counter(_without_names(question) for question in scoreboard.questions.values())
    for question, number in questions.most_common(SHOWN):
        yield f"  {number} asked a person, as they must: {question}"


def _without_names(error: str) -> str:
    return re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "…", re.sub(r"lead-\d{5}", "lead-…", error))[:200]
