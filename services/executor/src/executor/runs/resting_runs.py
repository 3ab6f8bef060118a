"""Runs that can't be gone on with: each rests for a growing while, and hides nothing that is overdue behind it."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from time import monotonic

from rota_common.retries import backoff

AT_MOST = 1_000
LONGEST_S = 60.0


@dataclass(kw_only=True)
class RestingRuns:
    """Kept by each process for itself: another one may be able to go on."""

    random: Random = field(default_factory=Random)
    _failures: OrderedDict[str, int] = field(default_factory=OrderedDict, init=False)
    _until: dict[str, float] = field(default_factory=dict, init=False)

    def failed(self, run_id: str) -> None:
        failures = self._failures[run_id] = self._failures.pop(run_id, 0) + 1
        self._until[run_id] = monotonic() + backoff(failures, random=self.random, cap=LONGEST_S)
        if len(self._failures) > AT_MOST:
            oldest, _ = self._failures.popitem(last=False)
            self._until.pop(oldest, None)

    def worked(self, run_id: str) -> None:
        self._failures.pop(run_id, None)
        self._until.pop(run_id, None)

    def now(self) -> Sequence[str]:
        """The runs that rest at this moment."""
        at = monotonic()
        return [run_id for run_id, until in self._until.items() if until > at]
