"""The owner of the robots, who answers what became of a call of unknown outcome, as people do: through the gateway."""

import asyncio
from collections.abc import Callable

import httpx

from rota_contracts.messages.parking import ExecutionParkedV1
from tests.chaos.robots import TEAM
from tests.chaos.scoreboard import Scoreboard
from tests.chaos.system import ADMIN_KEY

RETRY_S = 0.2
TIMEOUT_S = 10.0
ASKED = " is unknown: the worker ended in its middle"
"""In the question of a run that waits with such a call."""


class Owner:
    """Answers each question until the gateway has accepted the answer, or the execution has ended; a repeated answer
    is the same request."""

    def __init__(self, gateway: Callable[[], str], scoreboard: Scoreboard) -> None:
        self._gateway, self._scoreboard = gateway, scoreboard
        self._answering: dict[tuple[str, int], asyncio.Task[None]] = {}

    def parked(self, fact: ExecutionParkedV1) -> None:
        """An execution waits; a fact that comes twice is one question."""
        if ASKED in fact.reason and (fact.execution_id, fact.parks) not in self._answering:
            self._scoreboard.asked(fact.execution_id, fact.reason)
            name = f"owner: {fact.execution_id}"
            self._answering[fact.execution_id, fact.parks] = asyncio.create_task(self._answer(fact), name=name)

    async def close(self) -> None:
        for task in self._answering.values():
            task.cancel()
        await asyncio.gather(*self._answering.values(), return_exceptions=True)

    async def _answer(self, fact: ExecutionParkedV1) -> None:
        headers = {"Authorization": f"Bearer {ADMIN_KEY}"}
        async with httpx.AsyncClient(headers=headers, trust_env=False, timeout=TIMEOUT_S) as client:
            while not self._scoreboard.has_ended(fact.execution_id):
                lead = self._scoreboard.lead_of(fact.execution_id)
                if lead and await self._is_accepted(client, fact, f"I looked at the other side: {lead} is seen to."):
                    return
                await asyncio.sleep(RETRY_S)

    async def _is_accepted(self, client: httpx.AsyncClient, fact: ExecutionParkedV1, text: str) -> bool:
        body = {
            "action": "instruct",
            "execution_id": fact.execution_id,
            "messages": [{"content": text}],
            "request_id": f"answer-{fact.execution_id}-{fact.parks}",
        }
        url = f"{self._gateway()}/v1/teams/{TEAM}/robots/{fact.member_id}/intervene"
        try:
            return (await client.post(url, json=body)).is_success
        except httpx.HTTPError:
            return False
