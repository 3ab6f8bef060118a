"""Ids of agents: those of the platform, and their alias."""

PLATFORM = "rota."
"""What ids of the platform's agents begin with."""


def platform_name(agent_id: str) -> str:
    """An agent's id; `__yao.` is an alias of `rota.`, the platform's own."""
    return f"{PLATFORM}{agent_id.removeprefix('__yao.')}" if agent_id.startswith("__yao.") else agent_id


def of_platform(agent_id: str) -> bool:
    return platform_name(agent_id).startswith(PLATFORM)
