"""The class of a query: the hint of the first rule that its text meets, which says where it is sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from executor.domain.run import Run
from executor.domain.situation.wording import words
from rota_contracts.messages.execution import Task
from rota_contracts.messages.trigger import Message, TriggerType
from rota_contracts.robots.robot import Phase

SEARCHED = 32_768
"""Characters of a query in which keywords and patterns are looked for; its length counts whole."""

SEARCH_S = 0.05
"""Seconds for all patterns together. One that isn't found by then counts as not found: no pattern holds others up."""


@dataclass(frozen=True, kw_only=True)
class QueryRule:
    """Met by a text of these characters that holds one of the `keywords`, in any case, or one of the `patterns`, if
    there are any of them. Patterns are compiled by `regex`, whose searches can have a limit of time."""

    hint: str
    name: str = ""
    priority: int = 0
    min_length: int = 0
    max_length: int | None = None
    keywords: Sequence[str] = ()
    patterns: Sequence[Any] = ()


def by_priority(rules: Sequence[QueryRule]) -> Sequence[QueryRule]:
    """The highest first; of the same priority in the order of the file."""
    return sorted(rules, key=lambda rule: -rule.priority)


def first_met(text: str, rules: Sequence[QueryRule], *, seconds: float = SEARCH_S) -> QueryRule | None:
    """The first of the rules that the text meets; no text meets none."""
    if not text or not rules:
        return None
    until, searched = monotonic() + seconds, text[:SEARCHED]
    folded = searched.casefold()
    for rule in rules:
        if len(text) < rule.min_length or (rule.max_length is not None and len(text) > rule.max_length):
            continue
        if not rule.keywords and not rule.patterns:
            return rule
        if any(keyword.casefold() in folded for keyword in rule.keywords):
            return rule
        if any(_found(pattern, searched, until) for pattern in rule.patterns):
            return rule
    return None


def query_of(run: Run, subject: Phase | Task | None) -> str:
    """A person's words, for those who do what they ask for; empty for the phases of a run, and for runs that no person
    has started. `subject` None: any task."""
    trigger = run.execution.trigger
    return "" if isinstance(subject, Phase) or trigger.type is not TriggerType.HUMAN else words(trigger)


def last_words(messages: Sequence[Message]) -> str:
    """The last message of a user."""
    return next((message.text().strip() for message in reversed(messages) if message.role == "user"), "")


def _found(pattern: Any, text: str, until: float) -> bool:
    left = until - monotonic()
    try:
        return left > 0 and pattern.search(text, timeout=left) is not None
    except TimeoutError:
        return False
