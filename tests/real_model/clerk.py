"""The requests at a robot, and at the bare model."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import httpx

from rota.api_error import ApiError
from rota.waiting import until_finished
from rota_contracts.messages.execution import ExecStatus
from tests.integration.path.harness import System, a_system
from tests.real_model.requests import Request

CLERK = "clerk"
STRICT = """---
teams: ["*"]
options: {temperature: 0}
---
You judge the results of $role by the rules and by what was asked, and let nothing wrong pass.
"""
"""A judge of its own, which a robot names."""

PATIENCE_S = 600.0
LOOK_S = 1.0
ALIEN = ("<think", "<tool_call", "</", '```json\n{"check"', "<material-")
"""Tags, frames and templates: none of them may be in what is delivered."""


@dataclass
class Answer:
    """`text` is what the person gets; `calls` and `tokens` of the model, `seconds` from the request to the answer."""

    text: str = ""
    failed: str = ""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


def robot(hook_url: str) -> dict[str, Any]:
    return {
        "member_id": CLERK,
        "display_name": "Clerk",
        "robot_config": {
            "triggers": {"clock": {"enabled": False}, "intervene": {"enabled": True}},
            "identity": {"role": "Clerk", "duties": ["Answer short requests"]},
            "resources": {"mcp": [{"id": "calculator"}]},
            "delivery": {"type": "webhook", "opts": {"url": hook_url, "secret": "$ENV.OUT_SECRET"}},
        },
    }


async def bare(url: str, model: str, request: Request) -> Answer:
    """One call, without anything around the words."""
    began = monotonic()
    body = {"model": model, "messages": [{"role": "user", "content": request.words}]}
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as client:
        answer = (await client.post(f"{url}/chat/completions", json=body)).raise_for_status().json()
    text = answer["choices"][0]["message"]["content"] or ""
    return Answer(text, "", 1, answer.get("usage", {}).get("total_tokens", 0), monotonic() - began)


async def asked(system: System, request: Request) -> Answer:
    """By the robot, as a person would ask it; the text is the body of the webhook that arrives."""
    began, had = monotonic(), len(system.hooks.received)
    message = {"action": "task.add", "messages": [{"role": "user", "content": request.words}]}
    started = await system.api.intervene(CLERK, message)
    run = await over_or_waiting(system, started)
    found = Answer(seconds=monotonic() - began)
    if run["status"] != ExecStatus.COMPLETED:
        question = (run.get("question") or {}).get("question")
        found.failed = f"{run['status']}: {run.get('error') or question}"
        if run["status"] == ExecStatus.WAITING:
            await system.api.control(f"/executions/{run['execution_id']}", "stop", "a person has nothing to add")
            await until_finished(system.api, started, timeout=PATIENCE_S)
        return found
    await system.hooks.wait(had + 1)
    found.text = str(system.hooks.received[-1].body["data"].get("body", system.hooks.received[-1].body["data"]))
    return found


async def over_or_waiting(system: System, started: dict[str, Any]) -> dict[str, Any]:
    """A run that asks the person back has no answer: they have said all they know."""
    over = asyncio.create_task(until_finished(system.api, started, timeout=PATIENCE_S))
    while not over.done():
        await asyncio.wait((over,), timeout=LOOK_S)
        with contextlib.suppress(ApiError):  # it waits for its slot
            run: dict[str, Any] = await system.api.execution(started["execution_id"])
            if run["status"] == ExecStatus.WAITING:
                over.cancel()
                return run
    return await over


@asynccontextmanager
async def a_clerk(folder: Path, url: str, model: str, **servers: str) -> AsyncIterator[System]:
    """A robot with a calculator, on the model at `url`."""
    mcp = folder / "mcp"
    mcp.mkdir(parents=True)
    server = {
        "label": "Calculator",
        "teams": ["*"],
        "transport": "stdio",
        "command": sys.executable,
        "idempotent": True,
    }
    server["args"] = ["-m", "tests.real_model.calculator"]
    (mcp / "calculator.yaml").write_text(json.dumps(server))
    agents = folder / "agents"
    agents.mkdir()
    (agents / "strict.md").write_text(STRICT)
    os.environ |= {"ROTA_MCP_DIR": str(mcp), "ROTA_AGENTS_DIR": str(agents)}
    environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": os.environ.get("ROTA_TEST_MODEL_KEY", "local")}
    settings: dict[str, Any] = servers | {"connector": "openai", "environ": environ | {"OPENAI_MODEL": model}}
    async with a_system(folder / "rota", **settings) as system:
        await system.api.create_robot(robot(system.hooks.url))
        yield system
