"""The routing of queries: the operator's `routing.yml`, rules that give a query a hint, and a connector for each."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import regex
import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from executor.agents.operator_files import ConnectorFileError
from executor.domain.query_class import QueryRule, by_priority, first_met

FILE = "routing.yml"
"""In the folder of connectors: `rules`, and `hints` with the id of a connector for each."""

MOST, LONGEST = 100, 200
"""Rules, and words or patterns of each; characters of one."""


def _compiles(pattern: str) -> str:
    try:
        regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"expected a regular expression, got {pattern!r}: {error}") from error
    return pattern


Word = Annotated[str, Field(strict=True, min_length=1, max_length=LONGEST)]
Length = Annotated[int, Field(strict=True, ge=0)]


ROUTES = 64
"""Queries whose route is kept: a step asks for that of its run more than once, and patterns may take their time."""


class Rule(BaseModel):
    """As the operator writes it. Without any condition it would hold for every query: that is the default's place."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hint: Word
    priority: int = Field(default=0, strict=True)
    min_length: Length = 0
    max_length: Length | None = None
    keywords: tuple[Word, ...] = Field(default=(), max_length=MOST)
    patterns: tuple[Annotated[Word, AfterValidator(_compiles)], ...] = Field(default=(), max_length=MOST)

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        if not (self.min_length or self.max_length is not None or self.keywords or self.patterns):
            raise ValueError("expected a condition: min_length, max_length, keywords or patterns")
        if self.max_length is not None and self.max_length < self.min_length:
            raise ValueError(f"expected max_length to be at least min_length, {self.min_length}, got {self.max_length}")
        return self

    def compiled(self, number: int) -> QueryRule:
        fields = self.model_dump(exclude={"patterns"})
        return QueryRule(**fields, name=f"rule {number}", patterns=[regex.compile(each) for each in self.patterns])


class RoutingFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: tuple[Rule, ...] = Field(default=(), max_length=MOST)
    hints: dict[Word, Word] = {}


class Route(NamedTuple):
    """The connector that a query is sent to; `note` says why, for people."""

    connector: str
    note: str


class Routing:
    """`rules` in the order in which they are tried; `hints`: hint → id of a connector."""

    def __init__(self, rules: Sequence[QueryRule] = (), hints: Mapping[str, str] | None = None) -> None:
        self.rules, self.hints = rules, hints or {}
        self._kept = lru_cache(maxsize=ROUTES)(self._route)

    def route(self, query: str) -> Route | None:
        """None where no rule is met, or the hint of the first one that is has no connector."""
        return self._kept(query)

    def _route(self, query: str) -> Route | None:
        rule = first_met(query, self.rules)
        if rule is None or rule.hint not in self.hints:
            return None
        connector = self.hints[rule.hint]
        return Route(connector, f"sent to connector {connector}: {rule.name} of {FILE} gives the hint {rule.hint}")


def read_routing(folder: Path | None) -> Routing:
    """Of the folder's file, if there is one. Raises ConnectorFileError, with the field."""
    if folder is None or not (path := folder / FILE).is_file():
        return Routing()
    try:
        given: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConnectorFileError(f"{FILE} can't be read: {error}") from error
    try:
        file = RoutingFile.model_validate({} if given is None else given)
    except ValidationError as error:
        raise ConnectorFileError(f"{FILE} can't be read: {'; '.join(map(_wrong, error.errors()))}") from error
    rules = [rule.compiled(number) for number, rule in enumerate(file.rules, 1)]
    return Routing(by_priority(rules), file.hints)


def _wrong(error: Any) -> str:
    where = ".".join(map(str, error["loc"])) or "the file"
    return f"{where}: {error['msg']}, got {error['input']!r:.200}"
