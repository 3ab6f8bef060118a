"""Questions to a person: one that only repeats what was asked is no question."""

import re

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


def repeats(question: str, asked: str) -> bool:
    """Are most of the question's words those of what was asked?"""
    mine, given = _stems(question), _stems(asked)
    return bool(mine) and len(mine & given) >= REPEATED * len(mine)


def _stems(text: str) -> set[str]:
    return {word.casefold()[:STEM] for word in WORD.findall(text)}
