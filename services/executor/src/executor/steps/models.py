"""The choice of a model for a call."""

from dataclasses import dataclass

from executor.agents.connectors import REHEARSAL, Connector, Connectors
from executor.domain.spending import Payer
from executor.model_port import Model
from executor.spending.metered_model import Meter
from rota_contracts.messages.trigger import ExecutorMode


@dataclass(frozen=True, kw_only=True)
class Models:
    """`rehearsal` answers in every run that isn't in standard mode. Calls of the real one are metered."""

    connectors: Connectors
    real: Model
    rehearsal: Model
    meter: Meter | None = None

    def choose(self, mode: ExecutorMode, *wanted: str, payer: Payer) -> tuple[Model, Connector]:
        """The model for the first connector named in `wanted`, or the default. Raises Permanent when this
        team can't use the connector."""
        if mode is not ExecutorMode.STANDARD:
            return self.rehearsal, self.connectors.choose(REHEARSAL, team=payer.team)
        connector = self.connectors.choose(*wanted, team=payer.team)
        if connector.type == REHEARSAL:
            return self.rehearsal, connector
        return (self.meter.of(self.real, payer) if self.meter else self.real), connector
