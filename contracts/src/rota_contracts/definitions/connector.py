"""A connector as its team writes it: a model, the address of its server, and the team's secret that is its key."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from rota_contracts.messages.provider import Capability, VisionForm
from rota_contracts.model import Part
from rota_contracts.robots.ceilings import Currency
from rota_contracts.secret_refs import is_reference

INLINE_THINKING = "inline_thinking"
"""Beside the eight: the model's thoughts stand in the text of its answer, so that it isn't streamed."""

FALLBACKS = 10
PARAMETERS = 50


def known_capabilities(stated: dict[str, bool | str]) -> dict[str, bool | str]:
    """Raises ValueError, with what is expected."""
    for name, value in stated.items():
        if name not in (*Capability, INLINE_THINKING):
            raise ValueError(f"expected capabilities, of {', '.join([*Capability, INLINE_THINKING])}, got {name}")
        if isinstance(value, str) and (name != Capability.VISION or value not in [*VisionForm]):
            forms = f", {' or '.join(VisionForm)}" if name == Capability.VISION else ""
            raise ValueError(f"expected capability {name} to be true or false{forms}, got {value!r}")
    return stated


StatedCapabilities = Annotated[dict[str, bool | str], AfterValidator(known_capabilities)]
"""What is said of some capabilities of a model."""


def _reference_or_none(text: str) -> str:
    if text and not is_reference(text):
        raise ValueError("expected $SECRET.NAME, a secret of the team, or nothing")
    return text


class ModelPrice(Part):
    """Of a million tokens. `cached_per_million`: of those that the provider had cached; without it they cost as much
    as the others."""

    input_per_million: float = Field(ge=0)
    output_per_million: float = Field(ge=0)
    cached_per_million: float | None = Field(default=None, ge=0)
    currency: Currency = "USD"


class ModelOptions(Part):
    """`host`: the address of its server; without one, the provider's own. `context_window` in tokens, 0 = 200,000;
    `max_history_share`: of it, from which a conversation is compacted. `max_output`: tokens of an answer."""

    model: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    key: Annotated[str, AfterValidator(_reference_or_none)] = ""
    host: Annotated[str, StringConstraints(max_length=2_000, pattern=r"^(https?://.+)?$")] = ""
    capabilities: StatedCapabilities = {}
    parameters: dict[str, Any] = Field(default={}, max_length=PARAMETERS)
    context_window: int = Field(default=0, ge=0)
    max_history_share: float | None = Field(default=None, gt=0, le=1)
    price: ModelPrice | None = None
    max_output: int | None = Field(default=None, gt=0)


class ConnectorDefinition(Part):
    """`fallbacks`: ids of connectors that are asked while its provider doesn't answer, in this order."""

    label: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    type: Literal["openai", "anthropic"]
    options: ModelOptions
    fallbacks: list[str] = Field(default=[], max_length=FALLBACKS)
