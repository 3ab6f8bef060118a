"""The recollection that a run begins with: its lessons, what is around it, and the run that it follows."""

import asyncio
from dataclasses import replace

from executor.domain.outcomes import Outcome
from executor.domain.run import Run, Situation
from executor.domain.steps import RecallLessons
from executor.steps.gather_situation import GatherSituation
from executor.steps.questions import Questions


async def recall(
    run: Run, step: RecallLessons, questions: Questions, gather: GatherSituation, *, rehearsed: bool
) -> Outcome:
    recalled, around, (followed, note) = await asyncio.gather(
        questions.recall(run, step.query, rehearsed=rehearsed),
        _look_around(run, step, gather, rehearsed=rehearsed),
        _follow(run, step, gather),
    )
    notes = "; ".join(filter(None, [recalled.note, note]))
    return replace(recalled, surroundings=around, followed=followed, note=notes, rehearsed=rehearsed)


async def _look_around(run: Run, step: RecallLessons, gather: GatherSituation, *, rehearsed: bool) -> Situation | None:
    if step.with_situation:
        return await gather(run, rehearsed=rehearsed)
    return await gather.recent(run, rehearsed=rehearsed) if step.with_history else None


async def _follow(run: Run, step: RecallLessons, gather: GatherSituation) -> tuple[str, str]:
    return await gather.followed(run, step.follows) if step.follows else ("", "")
