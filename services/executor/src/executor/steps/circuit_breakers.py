"""The circuit breakers of connectors in one replica: hints, of which nothing is stored."""

from dataclasses import dataclass, field

from executor.domain.circuit_breaker import Circuit, after_answer, after_failure, before_call
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Model, NoAnswer, NotTaken, Prompt
from rota_common.clock import Clock, now
from rota_common.errors import Permanent
from rota_common.runtime.metrics import CONNECTOR_OPEN

CLOSED = Circuit()

SHORTEST_S = 20.0
"""Seconds of a call that must have been let wait for its failure to count: what has less, by the limits of a team's own
robot, says nothing about the provider, whose breaker is for all teams. What the provider itself refuses counts."""


@dataclass(kw_only=True)
class CircuitBreakers:
    """By the connectors' ids, which are those of the operator's files."""

    clock: Clock = now
    _circuits: dict[str, Circuit] = field(init=False, default_factory=dict)

    def is_open(self, connector_id: str) -> bool:
        return self._of(connector_id).rest(self.clock()) > 0

    def check(self, connector_id: str, *, alone: bool) -> None:
        """Raise NoAnswer while the breaker is open. A connector that is `alone`, without one to fall back on, is held
        back only by the pause that its provider asked for."""
        circuit, now = self._of(connector_id), self.clock()
        rest = circuit.rest(now)
        if rest and (circuit.asked_for or not alone):
            pause = rest if circuit.asked_for else None
            raise NoAnswer(f"{circuit.reason}; its circuit breaker is open", after=pause)

    def begin(self, connector_id: str, *, alone: bool) -> bool:
        """Is the call that begins now a probe? Raises NoAnswer as `check`."""
        self.check(connector_id, alone=alone)
        circuit, probe = before_call(self._of(connector_id), now=self.clock())
        if probe:
            self._circuits[connector_id] = circuit
        return probe

    def fail(self, connector_id: str, error: NoAnswer, *, probe: bool) -> None:
        circuit = self._of(connector_id)
        self._keep(connector_id, after_failure(circuit, str(error), pause=error.after, probe=probe, now=self.clock()))

    def succeed(self, connector_id: str) -> None:
        if connector_id in self._circuits:
            self._keep(connector_id, after_answer(self._circuits[connector_id], now=self.clock()))

    def _of(self, connector_id: str) -> Circuit:
        return self._circuits.get(connector_id, CLOSED)

    def _keep(self, connector_id: str, circuit: Circuit) -> None:
        self._circuits[connector_id] = circuit
        CONNECTOR_OPEN.labels(connector_id).set(circuit.open_until is not None)


@dataclass(frozen=True, kw_only=True)
class GuardedModel:
    """A model behind its connector's circuit breaker. Raises NoAnswer, without a call, while that is open."""

    model: Model
    breakers: CircuitBreakers
    alone: bool

    async def complete(self, prompt: Prompt) -> ModelReply:
        connector_id = prompt.connector.id
        probe = self.breakers.begin(connector_id, alone=self.alone)
        try:
            reply = await self.model.complete(prompt)
        except NoAnswer as error:
            if isinstance(error, NotTaken) or prompt.timeout >= SHORTEST_S:
                self.breakers.fail(connector_id, error, probe=probe)
            raise
        except Permanent:  # a refusal is an answer
            self.breakers.succeed(connector_id)
            raise
        self.breakers.succeed(connector_id)
        return reply
