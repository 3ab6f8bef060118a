"""Usage of models: what calls took, as far as the providers report it."""

from pydantic import Field

from rota_contracts.model import Part

MODELS = 20
"""Models that a run's usage names."""

SHARES = 100
DIGITS = 9
"""Decimals of a cost."""


class Usage(Part):
    """Tokens of one call; `tokens_cached` are part of those that went in."""

    tokens_in: int = Field(default=0, ge=0)
    tokens_out: int = Field(default=0, ge=0)
    tokens_cached: int = Field(default=0, ge=0)


class ModelCall(Part):
    """What one call of a model took. `usage` is null where its provider doesn't report it, `cost` where no price is
    known; it is in `currency`."""

    model: str = ""
    usage: Usage | None = None
    seconds: float = Field(default=0.0, ge=0)
    agent: str = ""
    connector: str = ""
    provider: str = Field(default="", description="the kind of its connector, like openai")
    cost: float | None = Field(default=None, ge=0)
    currency: str = ""


class UsageShare(Usage):
    """The share of one agent, model, day (UTC) and currency in a run's usage."""

    day: str
    agent: str = ""
    model: str = ""
    currency: str = ""
    calls: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)


class ModelUsage(Usage):
    """All calls of models in a run so far, those of its judges and of the learner too. `unmeasured` came without usage,
    which isn't in the sums then; `unpriced` without a cost. `costs` by currency."""

    calls: int = Field(default=0, ge=0)
    unmeasured: int = Field(default=0, ge=0)
    unpriced: int = Field(default=0, ge=0)
    costs: dict[str, float] = {}
    seconds: float = Field(default=0.0, ge=0)
    models: list[str] = Field(default=[], description="the models that answered, in the order of their first answer")
    shares: list[UsageShare] = Field(default=[], description="at most 100; further ones are added to the last")

    def plus(self, call: ModelCall, *, day: str) -> "ModelUsage":
        """With one more call, made on this day (UTC)."""
        used = call.usage or Usage()
        return ModelUsage(
            **_sum(self, used),
            calls=self.calls + 1,
            unmeasured=self.unmeasured + (call.usage is None),
            unpriced=self.unpriced + (call.cost is None),
            costs=_added(self.costs, call),
            seconds=round(self.seconds + call.seconds, 3),
            models=self.models if call.model in self.models else [*self.models, call.model][:MODELS],
            shares=_shared(self.shares, call, day),
        )


def _sum(one: Usage, other: Usage) -> dict[str, int]:
    return {name: getattr(one, name) + getattr(other, name) for name in Usage.model_fields}


def _added(costs: dict[str, float], call: ModelCall) -> dict[str, float]:
    if call.cost is None:
        return costs
    return costs | {call.currency: round(costs.get(call.currency, 0.0) + call.cost, DIGITS)}


def _shared(shares: list[UsageShare], call: ModelCall, day: str) -> list[UsageShare]:
    mine = (day, call.agent, call.model, call.currency)
    keys = [(share.day, share.agent, share.model, share.currency) for share in shares]
    new = UsageShare(day=day, agent=call.agent, model=call.model, currency=call.currency)
    full = len(shares) >= SHARES
    place = keys.index(mine) if mine in keys else len(shares) - 1 if full else len(shares)
    before = shares[place] if place < len(shares) else new
    changes = _sum(before, call.usage or Usage()) | {"calls": before.calls + 1}
    cost = round(before.cost + (call.cost or 0.0), DIGITS)
    return [*shares[:place], before.model_copy(update={**changes, "cost": cost}), *shares[place + 1 :]]
