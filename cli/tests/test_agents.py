"""`rota agents` and `rota connectors`: the requests and the output."""

import json
from typing import Any

from cli.tests.harness import Command, Gateway

AGENTS, PROVIDERS, CALL = "/agents", "/llm/providers", "/agents/yao.keeper/call"
CARD = {"id": "yao.keeper", "name": "The keeper", "modes": ["chat"], "tags": ["Data"], "description": "Keeps things."}
PROVIDER = {
    "id": "mine",
    "label": "Mine",
    "type": "openai",
    "model": "small",
    "capabilities": {"tool_calls": True, "vision": "claude", "audio": False},
    "default": True,
    "fallbacks": ["other", "last"],
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
    broken = PROVIDER | {"fallbacks": [], "id": "other", "default": False, "problem": "it has no key"}
    gateway.responses[PROVIDERS] = {"providers": [PROVIDER, broken]}
    code, out, _ = command("connectors", "list", "--filters", "tool_calls,vision", "--agent", "yao.keeper")
    assert code == 0
    assert [" ".join(line.split()) for line in out.splitlines()[1:]] == [
        "mine* small tool_calls, vision (claude) other, last yes",
        "other small tool_calls, vision (claude) - it has no key",
    ]
    assert dict(gateway.requests[-1].url.params) == {"filters": "tool_calls,vision", "agent": "yao.keeper"}
    assert json.loads(command("connectors", "list", "--json")[1]) == gateway.responses[PROVIDERS]


def test_a_connectors_test_shows_each_check_and_what_it_cost(gateway: Gateway, command: Command) -> None:
    checks = [
        {"name": "call", "outcome": "works", "seconds": 0.812},
        {"name": "vision", "outcome": "not_stated", "problem": "its capabilities say vision: false"},
    ]
    tried = {
        "checks": checks,
        "calls": 1,
        "usage": {"tokens_in": 20, "tokens_out": 3},
        "cost": 5e-06,
        "currency": "USD",
    }
    gateway.responses["/llm/providers/mine/test"] = tried
    code, out, _ = command("connectors", "test", "mine")
    assert (code, gateway.requests[-1].method) == (0, "POST")
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "CHECK OUTCOME SECONDS PROBLEM",
        "call works 0.8",
        "vision not stated - its capabilities say vision: false",
        "1 call, 20 + 3 tokens, 0.000005 USD",
    ]
    assert json.loads(command("connectors", "test", "mine", "--json")[1]) == tried
    failed = [{"name": "call", "outcome": "fails", "problem": "the key is refused"}]
    gateway.responses["/llm/providers/mine/test"] = {"checks": failed}
    code, out, _ = command("connectors", "test", "mine")
    assert (code, out.splitlines()[-1]) == (1, "No model has answered.")
    assert command("connectors", "test", "unknown")[0] == 1


def sent(*events: tuple[str, Any]) -> bytes:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events).encode()


def test_an_agent_is_called_and_its_answer_printed_while_it_is_written(gateway: Gateway, command: Command) -> None:
    answer = {"agent_id": "yao.keeper", "content": "One. Two.", "response": None, "error": ""}
    old, first = ("piece", {"piece": 1, "text": "Old. "}), ("piece", {"piece": 1, "text": "One. "})
    gateway.responses[CALL] = sent(old, ("cleared", {}), first, ("result", answer))
    options = ("--robot", "ann", "--model", "small", "--metadata", '{"source": "job"}')
    assert command("agents", "call", "yao.keeper", "Count.", *options)[:2] == (0, "Old. \n\nOne. Two.\n")
    assert gateway.asked[-1][1] == {
        "messages": [{"role": "user", "content": "Count."}],
        "timeout": 600,
        "metadata": {"source": "job"},
        "member_id": "ann",
        "model": "small",
        "stream": True,
    }
    gateway.responses[CALL] = sent(("result", answer))
    assert json.loads(command("agents", "call", "yao.keeper", "Count.", "--json")[1]) == answer
    assert command("agents", "call", "yao.keeper", "Count.")[1] == "One. Two.\n"


def test_a_call_without_an_answer_says_why(gateway: Gateway, command: Command) -> None:
    failed = {"agent_id": "yao.keeper", "content": "", "error": "there is no agent yao.keeper"}
    whys = {
        "there is no agent yao.keeper": sent(("result", failed)),
        "the executor doesn't answer now": sent(("error", {"message": "the executor doesn't answer now"})),
        "the answer ended before it was whole": sent(("piece", {"piece": 1, "text": "One. "})),
    }
    for why, gateway.responses[CALL] in whys.items():
        code, _, err = command("agents", "call", "yao.keeper", "Count.")
        assert (code, why in err) == (1, True), err
    code, _, err = command("agents", "call", "yao.keeper", "Count.", "--metadata", "[1]")
    assert (code, "expected a JSON object in --metadata" in err) == (1, True)


def test_calls_under_way_are_listed_and_aborted(gateway: Gateway, command: Command) -> None:  # EX-80
    call = {"id": "c1", "agent_id": "yao.keeper", "chat_id": "chat", "began_at": "2026-03-02T09:00:00Z"}
    gateway.responses["/calls"] = {"calls": [call]}
    code, out, _ = command("agents", "calls", "--chat", "chat")
    assert (code, out.splitlines()[1].split()[:4]) == (0, ["c1", "yao.keeper", "-", "chat"])
    assert dict(gateway.requests[-1].url.params) == {"chat_id": "chat"}
    gateway.responses["/calls"] = {"calls": []}
    assert command("agents", "calls")[1] == "No call of an agent is under way.\n"
    gateway.responses["/calls/c1"] = {"aborted": ["c1"]}
    assert command("agents", "abort", "c1")[:2] == (0, "Aborted: c1.\n")
    gateway.responses["/calls"] = {"aborted": []}
    assert command("agents", "abort", "--chat", "chat")[:2] == (0, "No call in chat chat is under way.\n")
    assert gateway.requests[-1].method == "DELETE"
    code, _, problem = command("agents", "abort")
    assert (code, "expected the id of a call, or --chat" in problem) == (1, True)
