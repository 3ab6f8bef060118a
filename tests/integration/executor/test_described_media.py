"""A picture for a model that can't see, described by a tool of a real MCP server."""

import base64
import json
from pathlib import Path
from typing import Any

from rota_common.testing.mcp_server import ScriptedTool, mcp_server
from rota_common.testing.openai_server import openai_server
from rota_contracts.messages.execution import ExecStatus
from tests.integration.executor.fixtures import Script
from tests.integration.executor.harness import Harness, kind, scripted

PICTURE = f"data:image/png;base64,{base64.b64encode(b'a receipt').decode()}"
SENT = [{"type": "text", "text": "What does it cost?"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
SCHEMA = {"type": "object", "properties": {"image": {"type": "string"}}, "required": ["image"]}


async def see(arguments: dict[str, Any]) -> str:
    return "A receipt of 12.50 euros." if arguments == {"image": PICTURE} else "nothing"


async def test_a_tool_that_sees_is_sent_the_picture_once_for_a_run_and_its_words_reach_the_model(
    system: Harness, tmp_path: Path
) -> None:  # CL-17 CL-18
    agents, servers = tmp_path / "agents", tmp_path / "servers"
    agents.mkdir()
    servers.mkdir()
    (agents / "agent.yml").write_text("uses: {vision: mcp:eyes.see}")
    async with (
        mcp_server([ScriptedTool("see", see, read_only=True, idempotent=True, schema=SCHEMA)]) as eyes,
        openai_server(Script()) as model,
    ):
        file = {"label": "Eyes", "teams": "*", "transport": "http", "url": eyes.url}
        (servers / "eyes.yaml").write_text(json.dumps(file))
        settings = scripted(tmp_path / "connectors", model.url) | {"agents_dir": agents, "mcp_dir": servers}
        (tmp_path / "connectors" / "models.yml").write_text("scripted: {vision: false}")
        async with system.executor(**settings):
            await system.request(type="human", input={"action": "task.add", "messages": [{"content": SENT}]})
            done = await system.over()
        tasks = [asked for asked in model.asked if kind(asked).startswith("run: ")]
    assert (done.status, done.error, done.notes) == (ExecStatus.COMPLETED, None, [])
    assert [call.arguments for call in eyes.calls] == [{"image": PICTURE}]
    assert len(tasks) == 2
    for asked in tasks:
        assert "as tool eyes.see describes it" in asked.words
        assert "A receipt of 12.50 euros." in asked.words
        assert PICTURE not in json.dumps(asked.body)
