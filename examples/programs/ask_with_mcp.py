"""Asks an agent over MCP, by the official client: `pip install mcp`

ROTA_KEY holds a key of the role member: `rota keys create --role member`. Then:

    python ask_with_mcp.py http://127.0.0.1:8080/v1/teams/main/mcp ask_experts_clerk "What is due this week?"
"""

import asyncio
import os
import sys

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, tool: str, message: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['ROTA_KEY']}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=600) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        print("tools:", ", ".join(each.name for each in (await session.list_tools()).tools))
        result = await session.call_tool(tool, {"message": message})
        for content in result.content:
            print("over MCP:", getattr(content, "text", content))
        if result.isError:
            raise SystemExit(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
