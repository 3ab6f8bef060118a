"""Replays: a stored execution is decided again, against its recorded outcomes."""

from rota_contracts.model import Instant, Name, Part


class ReplayExecution(Part):
    """Request to the executor: replay a stored execution against its recorded outcomes. Nothing is sent or changed."""

    team_id: Name
    execution_id: str


class Decision(Part):
    """One decision of a run and its outcome, also in words. `replayed` is the decision of the replay, where it
    differs."""

    at: Instant
    step: str
    outcome: str
    made: str = ""
    replayed: str | None = None


class ReplayReply(Part):
    """`found` is false if the team has no such execution. `same`: all decisions and the resulting execution are equal,
    byte by byte; otherwise `difference` names the first that differs."""

    found: bool = True
    same: bool = False
    difference: str = ""
    decisions: list[Decision] = []
