"""Trails: step by step what the models wrote in an execution, and what was made of it."""

from pydantic import Field

from rota_contracts.messages.usage import ModelCall
from rota_contracts.model import Instant, Name, Part


class ReadTrail(Part):
    """Request to the executor: the trail of an execution, or of one step by its number, with its words up to
    50,000 characters."""

    team_id: Name
    execution_id: str
    step: int | None = Field(default=None, ge=1)


class TrailStep(Part):
    """One step. `wrote`: the model's words, shortened where the whole trail is read; `characters` counts all of them.
    `made`: the outcome in words."""

    number: int = Field(ge=1)
    at: Instant
    step: str
    outcome: str
    made: str = ""
    wrote: str = ""
    reasoning: str = ""
    calls: list[str] = Field(default=[], description="the calls that came beside the words, as name and arguments")
    characters: int = 0
    call: ModelCall | None = Field(default=None, description="model, tokens, seconds; null without a model")
    asked: list[ModelCall] = Field(default=[], description="calls of other agents in this step: judges, the learner")


class TrailReply(Part):
    """`found` is false if the team has no such execution. `left_out`: steps beyond what an answer takes."""

    found: bool = True
    steps: list[TrailStep] = []
    left_out: int = 0
