"""The keys of teams' own connectors: secrets of the team, read at each call."""

from dataclasses import dataclass, replace

from executor.domain.conversation.chat import ModelReply
from executor.model_port import Model, Prompt
from rota_common.errors import Permanent
from rota_common.team_secrets import MissingTeamSecret, TeamSecrets


@dataclass(frozen=True, kw_only=True)
class TeamKeys:
    """A model that is given the connector's key. Raises Permanent for a secret that isn't set; Transient while secrets
    can't be read."""

    model: Model
    secrets: TeamSecrets

    async def complete(self, prompt: Prompt) -> ModelReply:
        connector = prompt.connector
        if not connector.secret:
            return await self.model.complete(prompt)
        try:
            values = await self.secrets.resolve(connector.owner, [connector.secret])
        except MissingTeamSecret as error:
            raise Permanent(f"connector {connector.id} can't be used: {error}") from error
        keyed = replace(connector, key=values[connector.secret])
        return await self.model.complete(replace(prompt, connector=keyed))
