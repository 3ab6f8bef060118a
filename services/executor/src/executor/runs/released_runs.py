"""The runs that this process released while they wait for an answer: it need not read them again to go on."""

from collections import OrderedDict

from executor.domain.run import Run

AT_MOST = 256
LONGEST_BYTES = 64 * 1024
"""Of a run's journal: a longer run isn't remembered, as it is large itself."""


class ReleasedRuns:
    """Runs as they were written, with the epoch of that write. Each writer since raises its epoch, so a write
    under the remembered epoch proves that nothing but its inbox has changed, and that write returns the inbox."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, tuple[Run, int]] = OrderedDict()

    def keep(self, run: Run, epoch: int) -> None:
        """Remember a run; the one that was remembered first is forgotten where there are too many."""
        if run.layout.journal_bytes > LONGEST_BYTES:
            return
        self._runs[run.id] = run, epoch
        if len(self._runs) > AT_MOST:
            self._runs.popitem(last=False)

    def take(self, run_id: str) -> tuple[Run, int] | None:
        """The run and its epoch, forgotten with that; None if it isn't remembered."""
        return self._runs.pop(run_id, None)
