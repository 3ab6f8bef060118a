"""The card of an agent or of a robot: its name, its skill, and how it is reached. Pure."""

from rota_contracts import version
from rota_contracts.messages.provider import AgentCard
from rota_contracts.robots.robot import Robot
from trigger_gateway.a2a.shapes import VERSION, Shape

KEY = "teamKey"
"""The name of the way to authenticate, within a card."""


def card_of(party: AgentCard | Robot, url: str) -> Shape:
    """`url`: where its messages go."""
    if isinstance(party, Robot):
        identity = party.robot_config.identity
        party_id, name, tags = party.member_id, party.display_name or party.member_id, ["robot"]
        about = ". ".join([identity.role, *identity.duties])
    else:
        party_id, name, tags = party.id, party.name, ["agent", *party.tags]
        about = party.description or f"Answers as {party.name}"
    return {
        "name": name,
        "description": about,
        "version": version.VERSION,
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": VERSION}],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "securitySchemes": {KEY: {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "a team's key"}}},
        "securityRequirements": [{"schemes": {KEY: {"list": []}}}],
        "defaultInputModes": ["text/plain", "application/json"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{"id": party_id, "name": name, "description": about, "tags": [*tags]}],
    }
