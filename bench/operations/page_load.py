"""The sections about what was measured while events came."""

from collections.abc import Callable
from typing import Any

from bench.operations.tables import number, percent, seconds, table
from rota_contracts.catalog import SERVICES
from tests.containers.project import STORES

LOADED = ("ten", "half", "most", "highest")
PERIODS = ("idle", *LOADED)
COLUMNS = {"idle": "idle", "ten": "10/s", "half": "50 %", "most": "90 %", "highest": "highest rate"}
SEVEN, ALL = "**the seven**", "**all containers**"


def rates(parts: dict[str, Any]) -> str:
    """The highest rate is measured in a closed loop, the others as open ones."""
    shown = [(name, parts[name]) for name in LOADED if name in parts]
    head = ["", *(COLUMNS[name] for name, _ in shown)]
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("events a second", lambda part: number(part["rate"])),
        ("measured for", lambda part: seconds(part["seconds"])),
        ("accepted", lambda part: _count(part, "accepted")),
        ("posts sent again", lambda part: _count(part, "sent_again")),
        ("runs completed, each with its result received", lambda part: _count(part, "completed")),
        ("runs failed", lambda part: _count(part, "failed")),
        ("webhook to result, median", lambda part: seconds(part["p50_s"])),
        ("webhook to result, 99th percentile", lambda part: seconds(part["p99_s"])),
        ("waiting for their result at the end", lambda part: _count(part, "waiting_at_the_end")),
        ("waiting at most", lambda part: _count(part, "most_waiting")),
        ("did the queue grow?", lambda part: {True: "**yes**", False: "no", None: "–"}[part.get("grew")]),
    ]
    lines = [[title, *(of(part) for _, part in shown)] for title, of in rows]
    return "\n\n".join(each for each in (*_how(parts), table(head, lines)) if each)


def _count(part: dict[str, Any], name: str) -> str:
    return number(part[name]) if name in part else "–"


def _how(parts: dict[str, Any]) -> list[str]:
    found = []
    if "highest" in parts:
        found.append(
            f"The **highest rate** is {number(parts['highest']['rate'])} runs a second: "
            f"{parts['highest']['in_flight']} are in flight at any time, and the next event is posted when a result "
            "is there. 50 % and 90 % of it, and 10/s, are posted at that rate, whatever the system does; the queue "
            "grew if more events waited for their results in the last quarter of the time than in the first."
        )
    if parts.get("ten", {}).get("starting", 1.0) < 1:
        ten = parts["ten"]
        found.append(
            f"**10/s** are ten events a second that are accepted; {percent(ten['completed'] / ten['accepted'])} of "
            "them start a run, the others are of a type that no robot subscribes to. Ten runs a second would be more "
            "than 90 % of what this machine holds."
        )
    return found


def memory(parts: dict[str, Any]) -> str:
    """Memory of its own at the end of each period, and the highest of the samples."""

    def cell(used: list[dict[str, float]]) -> str:
        return f"{sum(one['mib'] for one in used):.0f} ({sum(one['peak_mib'] for one in used):.0f})"

    note = (
        "MiB at the end of each period, in brackets the highest of samples every 5 s; of a sum, the sum of the "
        "highest. Without pages of files, which the kernel may drop. The periods follow each other without a "
        "restart: highest rate, 10/s, 50 %, 90 %."
    )
    apart = [COLUMNS[name] for name in PERIODS if parts.get(name, {}).get("some")]
    if apart:
        note += f" Measured again, on new containers: {', '.join(apart)}."
    return f"{note}\n\n{_by_service(parts, cell, [])}"


def processor(parts: dict[str, Any]) -> str:
    """Shares of a core, with the load generator and what else the machine does."""

    def cell(used: list[dict[str, float]]) -> str:
        return percent(sum(one["cores"] for one in used))

    shown = [parts[name] for name in PERIODS if name in parts]
    others = [
        ["load generator: sender and receiver", *(percent(part["generator_cores"]) for part in shown)],
        ["the rest of the machine: the engine, the mail catcher, other programs", *(rest(part) for part in shown)],
    ]
    note = "Of one core: 100 % is one core all the time. A container's health checks, every 3 s, are in it."
    return f"{note}\n\n{_by_service(parts, cell, others)}"


def rest(part: dict[str, Any]) -> str:
    """What neither the containers nor the load generator used."""
    if part["machine_cores"] is None:
        return "–"
    known = part["generator_cores"] + sum(one["cores"] for one in part["services"].values())
    return percent(max(0.0, part["machine_cores"] - known))


def _by_service(parts: dict[str, Any], cell: Callable[[list[dict[str, float]]], str], others: list[list[str]]) -> str:
    names = [name for name in PERIODS if name in parts]
    groups = {
        **{name: (name,) for name in SERVICES},
        SEVEN: tuple(SERVICES),
        **{name: (name,) for name in STORES},
        ALL: (*SERVICES, *STORES),
    }
    lines = [
        [title, *(cell([parts[name]["services"][one] for one in group]) for name in names)]
        for title, group in groups.items()
    ]
    return table(["", *(COLUMNS[name] for name in names)], [*lines, *others])
