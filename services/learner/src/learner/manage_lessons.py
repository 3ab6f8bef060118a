"""The lessons of a robot, listed and forgotten by people."""

from dataclasses import dataclass

from learner.ports import Knowledge, Lessons
from rota_common.page_cursor import PageCursor, parse_cursor
from rota_contracts.messages.learning import ForgetLessons, ForgetLessonsReply, LessonPage, ListLessons


@dataclass(frozen=True, kw_only=True)
class ManageLessons:
    lessons: Lessons
    knowledge: Knowledge

    async def page(self, asked: ListLessons) -> LessonPage:
        """Lessons, those of the newest runs first."""
        runs = await self.lessons.page(
            asked.team_id, asked.member_id, scope=asked.scope, limit=asked.limit, after=parse_cursor(asked.after)
        )
        last = runs[-1] if len(runs) == asked.limit else None
        return LessonPage(
            lessons=[lesson for run in runs for lesson in run.lessons],
            next=PageCursor(last.at, last.execution_id).text() if last else "",
        )

    async def forget(self, asked: ForgetLessons) -> ForgetLessonsReply:
        """The memory first: as long as lessons are here, they can be listed and forgotten again."""
        await self.knowledge.forget(asked.team_id, asked.member_id, ids=asked.ids, scope=asked.scope)
        count = await self.lessons.forget(asked.team_id, asked.member_id, ids=asked.ids, scope=asked.scope)
        return ForgetLessonsReply(count=count)
