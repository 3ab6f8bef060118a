"""A robot is gone, and its lessons and its history with it (LE-07). The memory hears of it too."""

from learner.ports import History, Lessons


class ForgetRobot:
    def __init__(self, lessons: Lessons, history: History) -> None:
        self._lessons, self._history = lessons, history

    async def __call__(self, team: str, member: str, *, rev: int) -> None:
        await self._lessons.remove_robot(team, member, up_to_rev=rev)
        await self._history.remove_robot(team, member, up_to_rev=rev)
