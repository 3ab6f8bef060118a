"""Running a stored execution again, against the answers that were recorded (F24)."""

from rota_contracts.model import Instant, Name, Part


class ReplayExecution(Part):
    """Question to the executor: run it again, against the answers that were recorded. Nothing leaves, nothing is
    changed (F24)."""

    team_id: Name
    execution_id: str


class Decision(Part):
    """One step of a run as it was decided: what had to happen, and what came of it. `replayed` is set when the replay
    decided otherwise."""

    at: Instant
    step: str
    outcome: str
    replayed: str | None = None


class ReplayReply(Part):
    """`found` is false when this team has no such execution. `same`: each decision and the execution that they lead to
    are equal, byte by byte; otherwise `difference` names the first that isn't."""

    found: bool = True
    same: bool = False
    difference: str = ""
    decisions: list[Decision] = []
