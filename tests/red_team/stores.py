"""The stores' content before anything happens."""

from datetime import UTC, datetime
from typing import Any

import nats

from rota.client import Api
from rota_common.testing.patience import PATIENCE_S
from rota_contracts.catalog import REMEMBER
from rota_contracts.messages.learning import LessonType
from rota_contracts.messages.memory import MemoryEntry, Remember

TEXT = {"content-type": "text/plain"}


async def put(api: Api, path: str, text: str, *, method: str = "POST") -> dict[str, Any]:
    return await api.of_team(method, f"/{path}", content=text.encode(), headers=TEXT)


async def remember(nats_url: str, team: str, member: str, text: str) -> None:
    """A lesson of a robot, as the learner has it kept."""
    made = datetime(2026, 1, 1, tzinfo=UTC)
    entry = MemoryEntry(id=f"seed-{member}", type=LessonType.INSIGHT, content=text, created_at=made)
    wanted = Remember(team_id=team, member_id=member, entries=[entry])
    client = await nats.connect(nats_url)
    try:
        await client.request(REMEMBER.subject, wanted.model_dump_json().encode(), timeout=PATIENCE_S)
    finally:
        await client.close()
