"""The built-in search: what its agents' answers mean, and what of all results an assistant is shown. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from executor.domain.conversation.chat import Tool, properties
from executor.domain.run import Run
from executor.domain.situation.wording import given_input
from executor.domain.used_tools import QUERY_LIMIT
from executor.domain.uses import DISABLED, ByAgent, ByTool, Uses
from rota_common.json_text import extract_json
from rota_contracts.agent_ids import PLATFORM
from rota_contracts.messages.execution import Task, excerpt
from rota_contracts.messages.memory import RecallReply
from rota_contracts.model import Json

Stage = Literal["needsearch", "keyword", "querydsl", "rerank"]

MOST, RESULT_LIMIT = 8, 2_000
"""Results that an assistant is shown, and characters of each."""

ADDRESSES = ("url", "link", "href", "source")
"""Fields of a result in JSON that say where it stands."""


class UnusableStage(ValueError):
    """An agent's answer isn't in the form of its stage; says what is expected."""


@dataclass(frozen=True)
class Result:
    """One thing that was found, and where."""

    source: str
    text: str


class Need(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    search: bool


class Keywords(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    keywords: list[str] = Field(min_length=1, max_length=20)

    def words(self) -> str:
        return " ".join(" ".join(self.keywords).split())[:QUERY_LIMIT]


class KnowledgeQuery(BaseModel):
    """The query language for knowledge, which the memory's recall can answer. `collections`: of the robot's, these
    alone; none named: all of them. `min_score`: 0 to 1, of what is found."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    query: str = Field(min_length=1, max_length=QUERY_LIMIT)
    collections: list[str] = []
    limit: int = Field(default=5, ge=1, le=20)
    min_score: float = Field(default=0.4, ge=0, le=1)


class Order(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    order: list[int]


Form = TypeVar("Form", bound=BaseModel)


def read(form: type[Form], answer: Json) -> Form:
    """An agent's answer in the form of its stage. Raises UnusableStage."""
    fields = ", ".join(form.model_fields)
    if not isinstance(answer, dict):
        raise UnusableStage(f"expected an answer in JSON with {fields}")
    try:
        return form.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UnusableStage(f"expected an answer in JSON with {fields}: {where}: {first['msg']}") from error


def query_of(answer: Json, collections: Sequence[str]) -> KnowledgeQuery:
    """The query for knowledge in an answer. `collections`: those that the robot has. Raises UnusableStage."""
    query = read(KnowledgeQuery, answer)
    if foreign := [name for name in query.collections if name not in collections]:
        known = ", ".join(collections) or "none"
        raise UnusableStage(f"expected collections, of {known}, got {', '.join(foreign)[:200]}")
    return query


def provider_of(stage: Stage, uses: Uses) -> ByAgent | ByTool | None:
    """Who does a stage; None if no one is asked. What isn't said is built in: the platform's agents, and for the order
    of results the ranks that they have where they come from."""
    if stage != "needsearch":
        if isinstance(provider := uses.of(stage), ByAgent | ByTool):
            return provider
        if stage == "rerank" or getattr(uses, stage) == DISABLED:
            return None
    return ByAgent(f"{PLATFORM}{stage}")


def words_of(run: Run, task: Task) -> str:
    """What to search for, without keywords: the task, and what was asked."""
    asked, described = given_input(run.execution.trigger), task.description
    whole = described if asked in described else f"{described}\n{asked}"
    return whole.strip()[:QUERY_LIMIT] or "anything"


def arguments_of(tool: Tool, words: str) -> dict[str, Json]:
    """The arguments of a tool that searches for these words; empty if it isn't clear which one takes them."""
    texts = tool.texts
    required = [name for name in tool.parameters.get("required") or () if name in texts]
    named = [name for name in ("query", "q") if name in texts]
    if not (found := [*named, *(required if len(required) == 1 else texts if len(texts) == 1 else [])]):
        return {}
    most = texts[found[0]].get("maxLength")
    return {found[0]: words[:most] if isinstance(most, int) else words}


def stage_arguments(
    tool: Tool, words: str, *, collections: Sequence[str] = (), results: Sequence[Result] = ()
) -> dict[str, Json]:
    """The arguments of a tool that does a stage: the words, and what it is about where the tool takes it. Empty if it
    isn't clear where they go."""
    known, texts = properties(tool.parameters), [each.text for each in results]
    given = {"collections": [*collections], "documents": texts, "results": texts}
    lists: dict[str, Json] = {name: value for name, value in given.items() if name in known and value}
    if results and not lists.keys() & {"documents", "results"}:
        return {}
    said = arguments_of(tool, words)
    return said | lists if said else {}


def recalled(run: Run, reply: RecallReply, *, least: float) -> tuple[list[Result], list[Result]]:
    """The robot's own knowledge and the team's, but for what the run has been given already."""
    lessons, known = {each.id for each in run.execution.recalled}, run.execution.known
    shared = {(each.collection, each.id) for each in known}
    own = [
        Result(f"memory, {one.entry.type} of {one.entry.created_at:%Y-%m-%d}", one.entry.content)
        for one in reply.entries
        if one.score >= least and one.entry.id not in lessons
    ]
    teams = [
        Result(f"knowledge, {one.entry.collection}/{one.entry.id} {one.entry.title}".rstrip(), one.entry.content)
        for one in reply.shared
        if one.score >= least and (one.entry.collection, one.entry.id) not in shared
    ]
    return own, teams


def results_in(text: str, *, source: str) -> list[Result]:
    """What a tool or an agent found. A list of objects in JSON is so many results, anything else is one."""
    found = extract_json(text) if text.lstrip()[:1] in ("[", "{") else None
    if isinstance(found, Mapping):
        lists = [each for each in found.values() if isinstance(each, list)]
        found = lists[0] if len(lists) == 1 else None
    if not isinstance(found, list) or not found or not all(isinstance(each, Mapping) for each in found):
        return [Result(source, text.strip())] if text.strip() else []
    return [Result(_address(each) or source, _lines(each)) for each in found]


def _address(found: Mapping[str, Any]) -> str:
    return next((said for name in ADDRESSES if isinstance(said := found.get(name), str) and said.strip()), "")


def _lines(found: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {value}" for name, value in found.items() if value not in (None, "", [], {}))


def fused(lists: Sequence[Sequence[Result]]) -> list[Result]:
    """By their ranks: the first of each list, then the second of each; the same text once."""
    first = dict[str, Result]()
    for each in (each for rank in zip_longest(*lists) for each in rank if each is not None):
        first.setdefault(each.text, each)
    return [*first.values()]


def ordered(answer: Json, results: Sequence[Result]) -> list[Result]:
    """The results that an answer names by their numbers, from 1 on, in its order. Raises UnusableStage."""
    order = read(Order, answer).order
    if wrong := [number for number in order if not 1 <= number <= len(results)]:
        raise UnusableStage(f"expected numbers from 1 to {len(results)} in order, got {wrong[0]}")
    return [results[number - 1] for number in dict.fromkeys(order)]


def as_text(results: Sequence[Result]) -> str:
    """The first of them, numbered, with their sources."""
    shown = [
        f"[{number}] source: {excerpt(each.source, 300)}\n{excerpt(each.text, RESULT_LIMIT)}"
        for number, each in enumerate(results[:MOST], start=1)
    ]
    return "\n\n".join(shown)
