"""An MCP server that writes down each call before and after it does its work: `python -m …ledger LOG`.

Those that only read say so; the others must not be called twice. It prints its address.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rota_common.testing.mcp_server import MCPServer, ScriptedTool, mcp_server

READS = ("find", "count", "list")
WRITES = ("add", "note", "mail", "pay")


async def serve(log: Path) -> None:
    servers = list[MCPServer]()

    def tool(name: str) -> ScriptedTool:
        return ScriptedTool(name, _written(servers, log, name), idempotent=name in READS, read_only=name in READS)

    async with mcp_server([tool(name) for name in (*READS, *WRITES)]) as made:
        servers.append(made)
        sys.stdout.write(f"{made.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def _written(servers: list[MCPServer], log: Path, name: str) -> Callable[[dict[str, Any]], Awaitable[str]]:
    async def work(arguments: dict[str, Any]) -> str:
        call = {"tool": name, "step": servers[0].calls[-1].step_id, "world": arguments.get("world", "")}
        _write(log, call | {"is": "begun"})
        _write(log, call | {"is": "done"})
        return f"{name} is done"

    return work


def _write(log: Path, line: dict[str, Any]) -> None:
    with log.open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
