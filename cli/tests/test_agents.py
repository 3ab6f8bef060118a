"""`rota agents` and `rota connectors`: the requests and the output."""

import json

from cli.tests.harness import Command, Gateway

AGENTS, PROVIDERS = "/agents", "/llm/providers"
CARD = {"id": "yao.keeper", "name": "The keeper", "modes": ["chat"], "tags": ["Data"], "description": "Keeps things."}
PROVIDER = {
    "id": "mine",
    "label": "Mine",
    "type": "openai",
    "model": "small",
    "capabilities": {"tool_calls": True, "vision": "claude", "audio": False},
    "default": True,
}


def test_agents_are_listed(gateway: Gateway, command: Command) -> None:  # CL-08
    gateway.responses[AGENTS] = {"agents": [CARD, {"id": "rota.goals", "name": "rota.goals", "built_in": True}]}
    code, out, _ = command("agents", "list", "--tags", "Data")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "yao.keeper The keeper (default) chat Data Keeps things.",
        "rota.goals (built in) (default) - - -",
    ]
    assert dict(gateway.requests[-1].url.params) == {"tags": "Data"}
    assert json.loads(command("agents", "list", "--json")[1]) == gateway.responses[AGENTS]
    gateway.responses[AGENTS] = {"agents": []}
    assert command("agents", "list", "--tags", "Data")[1] == "No agent has the tags Data.\n"


def test_connectors_are_listed_with_what_they_can(gateway: Gateway, command: Command) -> None:  # CL-14
    broken = PROVIDER | {"id": "other", "default": False, "problem": "it has no key"}
    gateway.responses[PROVIDERS] = {"providers": [PROVIDER, broken]}
    code, out, _ = command("connectors", "list", "--filters", "tool_calls,vision", "--agent", "yao.keeper")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "mine* small tool_calls, vision (claude) yes",
        "other small tool_calls, vision (claude) it has no key",
    ]
    assert dict(gateway.requests[-1].url.params) == {"filters": "tool_calls,vision", "agent": "yao.keeper"}
    assert json.loads(command("connectors", "list", "--json")[1]) == gateway.responses[PROVIDERS]
