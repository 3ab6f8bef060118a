"""Figures of a round from its instants, and whether Rota is where it should be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.peers.work import Begun, Driven

ROTA, RESTATE, DBOS = "Rota", "Restate", "DBOS"


@dataclass(frozen=True)
class Figures:
    p50_ms: float
    per_second: float


@dataclass(frozen=True)
class Goal:
    """Rota's figure divided by a peer's: at most `most`, or at least `least`."""

    name: str
    ratio: float
    least: float = 0.0
    most: float = float("inf")

    @property
    def reached(self) -> bool:
        return self.least <= self.ratio <= self.most

    def __str__(self) -> str:
        bound = f"≥ {self.least:g}" if self.least else f"≤ {self.most:g}"
        return f"{self.name} {self.ratio:.2f} ({bound} {'reached' if self.reached else 'missed'})"


def figures(driven: Driven, at: Mapping[str, float]) -> Figures:
    """`at`: name → the instant of the sink's 2xx. RuntimeError when a run never came there."""
    if missing := [name for name in (*driven.one_by_one, *driven.at_once) if name not in at]:
        raise RuntimeError(f"{len(missing)} runs ended and nothing came to the sink, for example {missing[0]}")
    waits = [at[name] - began for name, began in driven.one_by_one.items()]
    return Figures(median(waits) * 1000, _rate(driven.at_once, at))


def _rate(begun: Begun, at: Mapping[str, float]) -> float:
    """From the first trigger to the last 2xx."""
    return len(begun) / (max(at[name] for name in begun) - min(begun.values()))


def middle(rounds: Sequence[Figures]) -> Figures:
    return Figures(median(each.p50_ms for each in rounds), median(each.per_second for each in rounds))


def goals(of: Mapping[str, Figures]) -> list[Goal]:
    rota, restate, dbos = of[ROTA], of[RESTATE], of[DBOS]
    return [
        Goal("p50 Rota/Restate", rota.p50_ms / restate.p50_ms, most=1),
        Goal("rate Rota/Restate", rota.per_second / restate.per_second, least=1.5),
        Goal("p50 Rota/DBOS", rota.p50_ms / dbos.p50_ms, most=1),
        Goal("rate Rota/DBOS", rota.per_second / dbos.per_second, least=1),
    ]
