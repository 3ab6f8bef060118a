"""Usage of models: what calls took, as far as the providers report it."""

from pydantic import Field

from rota_contracts.model import Part

MODELS = 20
"""Models that a run's usage names."""


class Usage(Part):
    """Tokens of one call; `tokens_cached` are part of those that went in."""

    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    tokens_cached: int = Field(default=0, ge=0)


class ModelCall(Part):
    """What one call of a model took. `usage` is null where its provider doesn't report it."""

    model: str = ""
    usage: Usage | None = None
    seconds: float = Field(default=0.0, ge=0)


class ModelUsage(Usage):
    """All calls of models in a run so far. `unmeasured` came without usage, which isn't in the sums then."""

    calls: int = Field(default=0, ge=0)
    unmeasured: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    models: list[str] = Field(default=[], description="the models that answered, in the order of their first answer")

    def plus(self, call: ModelCall) -> "ModelUsage":
        """With one more call."""
        used = call.usage or Usage()
        return ModelUsage(
            tokens_in=self.tokens_in + used.tokens_in,
            tokens_out=self.tokens_out + used.tokens_out,
            tokens_cached=self.tokens_cached + used.tokens_cached,
            calls=self.calls + 1,
            unmeasured=self.unmeasured + (call.usage is None),
            seconds=round(self.seconds + call.seconds, 3),
            models=self.models if call.model in self.models else [*self.models, call.model][:MODELS],
        )
