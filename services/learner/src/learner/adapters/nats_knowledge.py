"""The memory service, over the bus."""

from collections.abc import Sequence
from datetime import datetime

from rota_common.bus.rpc import Ask
from rota_contracts.catalog import FORGET, REMEMBER
from rota_contracts.messages.learning import Lesson
from rota_contracts.messages.memory import Forget, MemoryEntry, Remember


class NatsKnowledge:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def remember(self, team: str, member: str, lessons: Sequence[Lesson]) -> int:
        entries = [
            MemoryEntry(
                id=lesson.id,
                type=lesson.type,
                content=lesson.content,
                execution_id=lesson.execution_id,
                created_at=lesson.learnt_at,
                scope=lesson.scope,
                rehearsed=lesson.rehearsed,
            )
            for lesson in lessons
        ]
        return (await self._ask(REMEMBER, Remember(team_id=team, member_id=member, entries=entries))).count

    async def forget(
        self,
        team: str,
        member: str,
        *,
        before: datetime | None = None,
        ids: Sequence[str] | None = None,
        scope: str | None = None,
    ) -> int:
        those = None if ids is None else [*ids]
        wanted = Forget(team_id=team, member_id=member, ids=those, before=before, scope=scope)
        return (await self._ask(FORGET, wanted)).count
