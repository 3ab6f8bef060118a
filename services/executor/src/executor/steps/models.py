"""The choice of a model for a call."""

from dataclasses import dataclass

from executor.agents.connectors import REHEARSAL, Connector, Connectors
from executor.model_port import Model
from rota_contracts.messages.trigger import ExecutorMode


@dataclass(frozen=True, kw_only=True)
class Models:
    """`rehearsal` answers in every run that isn't in standard mode."""

    connectors: Connectors
    real: Model
    rehearsal: Model

    def choose(self, mode: ExecutorMode, *wanted: str, team: str) -> tuple[Model, Connector]:
        """The model for the first connector named in `wanted`, or the default. Raises Permanent when this
        team can't use the connector."""
        if mode is not ExecutorMode.STANDARD:
            return self.rehearsal, self.connectors.choose(REHEARSAL, team=team)
        connector = self.connectors.choose(*wanted, team=team)
        return (self.rehearsal if connector.type == REHEARSAL else self.real), connector
