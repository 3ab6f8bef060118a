"""Asks an agent by the A2A protocol, by its official client: `pip install a2a-sdk`

ROTA_KEY holds a key of the role member: `rota keys create --role member`. Then:

    python ask_with_a2a.py http://127.0.0.1:8080/v1/teams/main/a2a/experts.clerk "What is due this week?"
"""

import asyncio
import os
import sys
from uuid import uuid4

import httpx
from a2a.client import ClientConfig, create_client
from a2a.types import Message, Part, Role, SendMessageRequest


async def main(url: str, text: str) -> None:
    headers = {"Authorization": f"Bearer {os.environ['ROTA_KEY']}"}
    async with httpx.AsyncClient(headers=headers, timeout=600) as http:
        client = await create_client(url, ClientConfig(httpx_client=http, streaming=False))
        message = Message(message_id=uuid4().hex, role=Role.ROLE_USER, parts=[Part(text=text)])
        async for response in client.send_message(SendMessageRequest(message=message)):
            print("over A2A:", " ".join(part.text for part in response.message.parts))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
