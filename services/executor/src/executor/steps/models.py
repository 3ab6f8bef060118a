"""The choice of a model for a call."""

from dataclasses import dataclass

from executor.agents.connectors import ANY, REHEARSAL, Connector, Connectors
from executor.agents.prompt_files import Agent
from executor.domain.spending import Payer
from executor.model_port import Model
from executor.spending.metered_model import Meter
from rota_common.errors import Permanent
from rota_contracts.messages.trigger import ExecutorMode


@dataclass(frozen=True, kw_only=True)
class Models:
    """`rehearsal` answers in every run that isn't in standard mode. Calls of the real one are metered."""

    connectors: Connectors
    real: Model
    rehearsal: Model
    meter: Meter | None = None

    def check_offered(self, agent: Agent, wanted: str, *, team: str) -> None:
        """Raise Permanent for a connector that this agent doesn't offer its callers."""
        if not wanted or agent.connector_options == ANY:
            return
        offered = [each.id for each in self.connectors.of(team, agent.connector_options)]
        if wanted not in offered:
            names = ", ".join(offered) or "none of this team's"
            raise Permanent(f"agent {agent.id} may be asked with the connectors {names}, not {wanted!r}")

    def choose(self, mode: ExecutorMode, *wanted: str, payer: Payer) -> tuple[Model, Connector]:
        """The model for the first connector named in `wanted`, or the default. Raises Permanent when this
        team can't use the connector."""
        if mode is not ExecutorMode.STANDARD:
            return self.rehearsal, self.connectors.choose(REHEARSAL, team=payer.team)
        connector = self.connectors.choose(*wanted, team=payer.team)
        if connector.type == REHEARSAL:
            return self.rehearsal, connector
        return (self.meter.of(self.real, payer) if self.meter else self.real), connector
