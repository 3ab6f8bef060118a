"""Notes on a run, for people."""

from collections.abc import Sequence

from executor.domain.run import Run


def noted(run: Run, notes: Sequence[str]) -> Run:
    """The run with those of these notes that it doesn't have yet."""
    new = [note for note in notes if note not in run.execution.notes]
    return run.with_execution(notes=[*run.execution.notes, *new]) if new else run
