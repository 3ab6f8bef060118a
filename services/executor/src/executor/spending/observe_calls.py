"""The observation of calls of models: a fact on the bus, and metrics."""

from dataclasses import dataclass, field

from executor.domain.spending import Payer
from executor.model_port import Prompt
from rota_common.bus.publishing import Publish
from rota_common.clock import Clock
from rota_common.runtime.metrics import MODEL_CALLS, MODEL_COST, MODEL_SECONDS, MODEL_TOKENS
from rota_contracts import catalog
from rota_contracts.messages.spend import CallOutcome, ModelCalledV1
from rota_contracts.messages.usage import ModelCall

LABELS, OTHERS = 500, "(others)"
"""Pairs of a team and a model that metrics name."""


@dataclass(frozen=True, kw_only=True)
class ObserveCalls:
    publish: Publish
    clock: Clock
    _named: set[tuple[str, str]] = field(init=False, default_factory=set)

    @property
    def teams(self) -> set[str]:
        """Those whose calls metrics name."""
        return {team for team, _ in self._named if team != OTHERS}

    async def __call__(self, payer: Payer, prompt: Prompt, outcome: CallOutcome, call: ModelCall) -> None:
        self._count(payer.team, outcome, call)
        fact = ModelCalledV1(
            team_id=payer.team,
            member_id=payer.member,
            execution_id=payer.execution or None,
            agent=payer.agent,
            provider=prompt.connector.type,
            connector=prompt.connector.id,
            model=call.model,
            outcome=outcome,
            usage=call.usage,
            cost=call.cost,
            currency=call.currency,
            seconds=call.seconds,
            at=self.clock(),
        )
        await self.publish.hint(catalog.MODEL_CALLED, fact)

    def _count(self, team: str, outcome: CallOutcome, call: ModelCall) -> None:
        pair = (team, call.model)
        if pair not in self._named and len(self._named) >= LABELS:
            pair = (OTHERS, OTHERS)
        self._named.add(pair)
        MODEL_CALLS.labels(*pair, outcome).inc()
        MODEL_SECONDS.labels(pair[1]).observe(call.seconds)
        if call.usage is not None:
            MODEL_TOKENS.labels(*pair, "in").inc(call.usage.tokens_in)
            MODEL_TOKENS.labels(*pair, "out").inc(call.usage.tokens_out)
        if call.cost is not None:
            MODEL_COST.labels(*pair, call.currency).inc(call.cost)
