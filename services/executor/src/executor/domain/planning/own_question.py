"""Questions to a person: one that only repeats what was asked is no question."""

import re

from executor.domain.planning import plain_request
from executor.domain.run import Run
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import TriggerType

WORD = re.compile(r"[^\W\d_]{4,}")
STEM = 5
"""Characters by which two forms of a word are the same: translate, translation."""

REPEATED = 0.6
"""The share of a question's words from which it only repeats the task."""

PROBLEM = (
    "expected the result, got a question that only repeats what was asked. Do the work with what you were given; if "
    "something is missing, say so in the result"
)

ASK_AGAIN = (
    "expected the result, got a question, and no person waits for it. Do the work with what you were given; ask once "
    "more only if nothing at all can be done without an answer"
)
"""To an assistant of a run that no person asked for: the first of its questions."""


def may_ask(run: Run, task: Task) -> bool:
    """May the task's assistant ask a person? One must be there: the one who started the run, or the robot's manager.
    The result of a plain request goes to the one who asked; what is asked for again is to be a result, but for a
    question that its assistant may insist on."""
    anyone = run.execution.trigger.type is TriggerType.HUMAN or run.robot.manager_id is not None
    first = not run.attempts or run.feedback == ASK_AGAIN
    return anyone and first and not plain_request.is_request(run, task)


def repeats(question: str, asked: str) -> bool:
    """Are most of the question's words those of what was asked?"""
    mine, given = _stems(question), _stems(asked)
    return bool(mine) and len(mine & given) >= REPEATED * len(mine)


def _stems(text: str) -> set[str]:
    return {word.casefold()[:STEM] for word in WORD.findall(text)}
