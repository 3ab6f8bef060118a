"""A robot is gone, and its lessons with it (LE-07). The memory hears of it too, and removes what it keeps itself."""

from learner.ports import Lessons


class ForgetRobot:
    def __init__(self, lessons: Lessons) -> None:
        self._lessons = lessons

    async def __call__(self, team: str, member: str, *, rev: int) -> None:
        await self._lessons.remove_robot(team, member, up_to_rev=rev)
