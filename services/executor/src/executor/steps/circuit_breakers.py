"""The circuit breakers of connectors in one replica: hints, of which nothing is stored."""

from collections import OrderedDict
from dataclasses import dataclass, field

from executor.agents.connectors import Connector
from executor.domain.circuit_breaker import Circuit, after_answer, after_failure, before_call
from executor.domain.conversation.chat import ModelReply
from executor.model_port import Model, NoAnswer, NotTaken, Prompt
from rota_common.clock import Clock, now
from rota_common.errors import Permanent
from rota_common.runtime.metrics import CONNECTOR_OPEN

CLOSED = Circuit()

OWN, TEAMS = 20, 500
TEAMS_OWN = "(a team's own)"
"""The label of all of them in metrics."""

SHORTEST_S = 20.0
"""Seconds of a call that must have been let wait for its failure to count: what has less, by the limits of a team's own
robot, says nothing about the provider, whose breaker is for all teams. What the provider itself refuses counts."""


@dataclass(kw_only=True)
class CircuitBreakers:
    """Those of the platform's connectors hold for all teams. Of the connectors that are a team's own, the last `OWN`
    of each of the last `TEAMS` teams have one."""

    clock: Clock = now
    _circuits: dict[str, Circuit] = field(init=False, default_factory=dict)
    _own: OrderedDict[str, OrderedDict[str, Circuit]] = field(init=False, default_factory=OrderedDict)

    def is_open(self, connector: Connector) -> bool:
        return self._of(connector).rest(self.clock()) > 0

    def check(self, connector: Connector, *, alone: bool) -> None:
        """Raise NoAnswer while the breaker is open. A connector that is `alone`, without one to fall back on, is held
        back only by the pause that its provider asked for."""
        circuit, now = self._of(connector), self.clock()
        rest = circuit.rest(now)
        if rest and (circuit.asked_for or not alone):
            pause = rest if circuit.asked_for else None
            raise NoAnswer(f"{circuit.reason}; its circuit breaker is open", after=pause)

    def begin(self, connector: Connector, *, alone: bool) -> bool:
        """Is the call that begins now a probe? Raises NoAnswer as `check`."""
        self.check(connector, alone=alone)
        circuit, probe = before_call(self._of(connector), now=self.clock())
        if probe:
            self._keep(connector, circuit)
        return probe

    def fail(self, connector: Connector, error: NoAnswer, *, probe: bool) -> None:
        circuit = self._of(connector)
        self._keep(connector, after_failure(circuit, str(error), pause=error.after, probe=probe, now=self.clock()))

    def succeed(self, connector: Connector) -> None:
        if (circuit := self._of(connector)) is not CLOSED:
            self._keep(connector, after_answer(circuit, now=self.clock()))

    def _of(self, connector: Connector) -> Circuit:
        mine = self._own.get(connector.owner, {}) if connector.owner else self._circuits
        return mine.get(connector.id, CLOSED)

    def _keep(self, connector: Connector, circuit: Circuit) -> None:
        if connector.owner:
            self._keep_own(connector, circuit)
            return
        self._circuits[connector.id] = circuit
        CONNECTOR_OPEN.labels(connector.id).set(circuit.open_until is not None)

    def _keep_own(self, connector: Connector, circuit: Circuit) -> None:
        mine = self._own.setdefault(connector.owner, OrderedDict())
        mine[connector.id] = circuit
        mine.move_to_end(connector.id)
        self._own.move_to_end(connector.owner)
        if len(mine) > OWN:
            mine.popitem(last=False)
        if len(self._own) > TEAMS:
            self._own.popitem(last=False)


def label_of(connector: Connector) -> str:
    """In metrics, which have a bounded number of labels."""
    return TEAMS_OWN if connector.owner else connector.id


@dataclass(frozen=True, kw_only=True)
class GuardedModel:
    """A model behind its connector's circuit breaker. Raises NoAnswer, without a call, while that is open."""

    model: Model
    breakers: CircuitBreakers
    alone: bool

    async def complete(self, prompt: Prompt) -> ModelReply:
        connector = prompt.connector
        probe = self.breakers.begin(connector, alone=self.alone)
        try:
            reply = await self.model.complete(prompt)
        except NoAnswer as error:
            if isinstance(error, NotTaken) or prompt.timeout >= SHORTEST_S:
                self.breakers.fail(connector, error, probe=probe)
            raise
        except Permanent:  # a refusal is an answer
            self.breakers.succeed(connector)
            raise
        self.breakers.succeed(connector)
        return reply
