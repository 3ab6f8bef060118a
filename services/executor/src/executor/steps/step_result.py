"""The result of a step, as the worker records it."""

from collections.abc import Sequence
from dataclasses import dataclass

from executor.domain.conversation.chat import Tool
from executor.domain.outcomes import Outcome
from rota_contracts.messages.text import Text
from rota_contracts.messages.usage import ModelCall


@dataclass(frozen=True)
class StepResult:
    """An outcome; where it comes of a model's `reply`, also that, and the `tools` that the model could call.

    `problems`: why it couldn't call others; noted on the run. `call`: what the model's took.
    """

    outcome: Outcome
    reply: Text | None = None
    tools: Sequence[Tool] = ()
    problems: Sequence[str] = ()
    call: ModelCall | None = None
