"""The course of a run: when it was in which phase, what people said to it, what it asks them."""

from pydantic import Field

from rota_contracts.model import Instant, Part
from rota_contracts.robots.robot import Phase


class PhaseTime(Part):
    """When a phase was entered and left. A phase that was entered again has several."""

    phase: Phase
    started_at: Instant
    finished_at: Instant | None = None


class Intervention(Part):
    """A person's word in this run, and what came of it."""

    intervention_id: str
    action: str = Field(description="an intervention's action, or pause, resume, stop, deadline")
    text: str = ""
    at: Instant
    effect: str = ""


class PendingQuestion(Part):
    """What a person is asked; the run waits for the answer. Without `task_id` the phase's agent asks."""

    question: str
    task_id: str | None = None
    asked_at: Instant
