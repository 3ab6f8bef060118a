"""Mutants of prompts: each lacks one section or one line of a text."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import getmembers, isfunction
from types import ModuleType
from typing import Any

from executor.agents import context_files, prompt_files, prompts, search_prompts
from executor.agents.sections import forms, given, identity, means, schemas
from executor.domain.context import compaction
from learner import prompts as of_learner
from validator import prompts as of_validator

SECTIONS: dict[ModuleType, tuple[str, ...]] = {
    identity: ("persona", "rules", "runtime", "language", "reminder"),
    given: tuple(name for name, each in getmembers(given, isfunction) if each.__module__ == given.__name__),
    means: ("means", "explained", "reach", "listed_assistants", "listed_tools", "listed_processes", "arguments"),
    prompts: ("form", "now_text"),
    schemas: ("schema",),
    of_validator: ("answer_form",),
}
"""Functions whose words are sections; without one its place is empty."""

SEARCHES = ("NEEDSEARCH", "KEYWORD", "QUERYDSL", "RERANK")

TEXTS: dict[ModuleType, tuple[str, ...]] = {
    identity: ("SAFETY", "TAGS", "DUTY", "KEPT"),
    means: ("DISPATCH",),
    forms: ("JSON", "NOTHING", "GOALS", "TASKS", "RUN", "DELIVERY", "ATTACHMENTS", "RESULT", "INSPIRATION", *SEARCHES),
    context_files: ("MANDATORY",),
    compaction: ("INSTRUCTION", "SYSTEM"),
    of_validator: ("JUDGE", "ANSWER", "REPLY"),
    of_learner: ("ANSWER", "DEDUP"),
}
"""Texts, each of whose lines is a mutant."""

METHODS = ((context_files.ContextFiles, ("persona", "mandatory", "project")),)


@dataclass(frozen=True)
class Mutant:
    """`apply` takes the section or the line out, for the rest of this process."""

    name: str
    apply: Callable[[], None]


def mutants() -> Iterator[Mutant]:
    yield from _sections()
    yield from _lines()


def _sections() -> Iterator[Mutant]:
    for module, names in SECTIONS.items():
        for name in names:
            yield Mutant(f"{module.__name__}.{name}", partial(_without_function, getattr(module, name)))
    for kind, names in METHODS:
        for name in names:
            yield Mutant(f"{kind.__module__}.{kind.__name__}.{name}", partial(setattr, kind, name, _nothing))
    for path in sorted(prompt_files.BUILT_IN.glob("*.md")):
        yield Mutant(path.name, partial(_without_words_of, path.stem))
    for module in (prompts, search_prompts):
        wishes: dict[Any, str] = module.WISHES
        for wish in wishes:
            yield Mutant(f"{module.__name__}.WISHES[{wish}]", partial(wishes.__setitem__, wish, ""))


def _lines() -> Iterator[Mutant]:
    for module, names in TEXTS.items():
        for name in names:
            for number, line in enumerate(getattr(module, name).splitlines()):
                yield Mutant(f"{module.__name__}.{name}: {line}", partial(_without_line, module, name, number))


def _nothing(*_: Any, **__: Any) -> str:
    return ""


def _without_function(removed: Callable[..., Any]) -> None:
    """Everywhere where it was imported under its name."""
    for module in [*sys.modules.values()]:
        for name, each in [*vars(module).items()] if module is not None else []:
            if each is removed:
                setattr(module, name, _nothing)


def _without_line(module: ModuleType, name: str, number: int) -> None:
    lines = getattr(module, name).splitlines()
    setattr(module, name, "\n".join([*lines[:number], *lines[number + 1 :]]))


def _without_words_of(agent_id: str) -> None:
    """The file of a built-in agent, empty but for its front matter."""
    whole = prompt_files.Agent.system_prompt

    def without(agent: prompt_files.Agent, values: dict[str, str]) -> str:
        return "" if agent.id == agent_id else whole(agent, values)

    setattr(prompt_files.Agent, "system_prompt", without)  # noqa: B010  # a method
