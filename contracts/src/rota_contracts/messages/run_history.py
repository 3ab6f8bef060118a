"""The history of a run: times of its phases, interventions, and its open question."""

from pydantic import Field

from rota_contracts.model import Instant, Part
from rota_contracts.robots.robot import Phase


class PhaseTime(Part):
    """One visit to a phase. A phase that is entered again has several."""

    phase: Phase
    started_at: Instant
    finished_at: Instant | None = None


class Intervention(Part):
    """A signal to this run, and its effect."""

    intervention_id: str
    action: str = Field(description="an intervention's action, or pause, resume, stop, deadline")
    text: str = ""
    at: Instant
    effect: str = ""


class PendingQuestion(Part):
    """A question to a person; the run waits for the answer. Without `task_id` the phase's agent asks."""

    question: str
    task_id: str | None = None
    asked_at: Instant
