"""The file of an agent: a front matter in YAML, whose fields are those of a team's own agent, and the prompt below."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import Field, ValidationError

from executor.agents.operator_files import EXPECTED, Teams, teams_of
from rota_common.secrets import MissingSecret, resolve
from rota_contracts.definitions.agent import AgentDefinition, Text
from rota_contracts.definitions.front_matter import halves


class AgentFileError(ValueError):
    """A prompt file can't be read; names the file."""


class AgentFile(AgentDefinition):
    """As the operator writes it: with the teams that may use it, and variables of the environment."""

    teams: Any = Field(default=None, description=EXPECTED)
    connector: Text = Field(default="", description="the id of a connector, or $ENV.NAME")
    prompt: str = ""
    uses: Any = Field(default=None, description="a mapping of services to those who do them")

    def named_teams(self, agent_id: str) -> Teams:
        try:
            return teams_of(self.teams)
        except ValueError as error:
            raise AgentFileError(f"the front matter of {agent_id}.md can't be read: {error}") from error

    def named_connector(self, agent_id: str, environ: Mapping[str, str]) -> str:
        try:
            return resolve(self.connector, environ)
        except MissingSecret as error:
            raise AgentFileError(f"the connector of agent {agent_id} can't be read: {error}") from error


def read_file(agent_id: str, text: str) -> AgentFile:
    """From its front matter in YAML and its prompt. A field without a value is as one that isn't there. Raises
    AgentFileError for the first that is wrong."""
    head, prompt = _halves(agent_id, text)
    where = f"the front matter of {agent_id}.md"
    try:
        front: Any = yaml.safe_load(head) or {}
    except yaml.YAMLError as error:
        raise AgentFileError(f"{where} is not YAML: {error}") from error
    if not isinstance(front, dict):
        raise AgentFileError(f"expected {where} to be a mapping, got {front!r}")
    fields = AgentFile.model_fields
    names = [name for name in fields if name != "prompt"]
    if unknown := sorted(map(str, front.keys() - {*names})):
        raise AgentFileError(f"{where} may have {', '.join(names)}, not {', '.join(unknown)}")
    given = {name: value for name, value in front.items() if value is not None}
    try:
        return AgentFile.model_validate({**given, "prompt": prompt}, extra="forbid")
    except ValidationError as error:
        wrong = error.errors()[0]
        if not wrong["loc"]:
            raise AgentFileError(f"{where} can't be read: {wrong['ctx']['error']}") from error
        name = str(wrong["loc"][0])
        expected = f"expected {name} in {where} to be {fields[name].description}, got {front[name]!r}"
        raise AgentFileError(expected) from error


def _halves(agent_id: str, text: str) -> tuple[str, str]:
    try:
        return halves(text) or ("", text)
    except ValueError as error:
        raise AgentFileError(f"the front matter of {agent_id}.md {error}") from error
