"""A team's definitions as the gateway keeps them, and the decisions about them: no I/O, no clock."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from rota_contracts.canary import Canary
from rota_contracts.definitions.definition import (
    DEFINITIONS_PER_TEAM,
    SPEC_LIMIT,
    Definition,
    DefinitionKind,
    DefinitionSet,
    entry,
    parse_spec,
)
from rota_contracts.json_values import same, unstorable
from rota_contracts.messages.definition import WrittenDefinition
from trigger_gateway.problems import Conflict, FieldProblem, Invalid, plain

MOST_PROBLEMS = 20


class Outcome(StrEnum):
    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


@dataclass(frozen=True)
class Head:
    """A team's current set and its canary, whose set is `candidate`. `version` grows with each change, `last` is the
    number that a set was given last. `synced`: other services read it so."""

    team: str
    current: DefinitionSet
    candidate: DefinitionSet | None = None
    version: int = 0
    last: int = 0
    synced: bool = True

    @property
    def shown(self) -> DefinitionSet:
        """As other services read it."""
        return self.current.model_copy(update={"version": self.version})

    @property
    def sets(self) -> Sequence[DefinitionSet]:
        """Those that new runs begin with."""
        return [self.current] if self.candidate is None else [self.current, self.candidate]

    def check_no_canary(self) -> None:
        if (canary := self.current.canary) is not None:
            raise Conflict(
                "canary_on",
                f"revision {canary.rev} is a canary with {canary.share} % of new runs: promote it or abort it first",
            )


def empty_head(team: str) -> Head:
    return Head(team, DefinitionSet(team_id=team, rev=0))


def agents_gone(before: Head, after: Head) -> list[str]:
    """The ids of the agents that the team has no more."""
    left = after.current.entries
    gone = (name.partition("/") for name in before.current.entries if name not in left)
    return [agent for kind, _, agent in gone if kind == DefinitionKind.AGENT]


@dataclass(frozen=True)
class Change:
    """What becomes of one definition. `after` None: it stays as it is; a deleted one has no spec."""

    kind: DefinitionKind
    id: str
    outcome: Outcome
    before: Definition | None = None
    after: Definition | None = None

    @property
    def rev(self) -> int:
        """Of what is there now, deleted or not."""
        there = self.after or self.before
        return there.rev if there else 0


@dataclass(frozen=True)
class Author:
    """Who writes, when, and which revision is repeated, if one is."""

    by: str
    at: datetime
    rolled_back_to: int | None = None


@dataclass(frozen=True)
class Next:
    """The head after a change, and what it brings: `made` and `left_out` of the current set's, by `changes`."""

    head: Head
    changes: Sequence[Change] = field(default=())

    @property
    def definitions(self) -> Sequence[Definition]:
        return [change.after for change in self.changes if change.after is not None]

    @property
    def new_set(self) -> DefinitionSet:
        return self.head.candidate or self.head.current


def check_written(written: Sequence[WrittenDefinition]) -> None:
    """Raise Invalid, which names every definition and field that is wrong."""
    problems = [problem for each in written for problem in _problems(each)]
    names = [entry(each.kind, each.id) for each in written]
    problems += [
        FieldProblem(name, "is there twice: expected one") for name in sorted({*names}) if names.count(name) > 1
    ]
    if problems:
        raise Invalid("invalid_definition", "the definitions are not valid", fields=problems[:MOST_PROBLEMS])


def _problems(written: WrittenDefinition) -> Iterator[FieldProblem]:
    name = entry(written.kind, written.id)
    if reason := unstorable(written.spec):
        yield FieldProblem(name, f"can't be stored: {reason}")
        return
    try:
        parsed = parse_spec(written.kind, written.spec)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_input=False, include_context=False):
            yield FieldProblem(f"{name} {'.'.join(map(str, each['loc']))}", plain(each["msg"]))
        return
    if (size := len(parsed.model_dump_json().encode())) > SPEC_LIMIT:
        yield FieldProblem(name, f"expected at most {SPEC_LIMIT} bytes, not {size}")


def changes_of(
    head: Head, there: Mapping[str, Definition], written: Sequence[WrittenDefinition], *, prune: bool, author: Author
) -> Sequence[Change]:
    """`there`: those of the written names that are there now, and with `prune` all others too."""
    made = [_change(head, there.get(entry(each.kind, each.id)), each, author) for each in written]
    names = {entry(each.kind, each.id) for each in written}
    gone = [one for name, one in sorted(there.items()) if prune and name not in names]
    return [*made, *(deletion(head, one, author) for one in gone)]


def _change(head: Head, before: Definition | None, written: WrittenDefinition, author: Author) -> Change:
    of = written.kind, written.id
    if before is not None and same(before.spec, written.spec):
        return Change(*of, Outcome.UNCHANGED, before)
    after = _revision(head, written.kind, written.id, author, spec=written.spec)
    return Change(*of, Outcome.CHANGED if before else Outcome.CREATED, before, after)


def deletion(head: Head, one: Definition, author: Author) -> Change:
    return Change(one.kind, one.id, Outcome.DELETED, one, _revision(head, one.kind, one.id, author, deleted=True))


def _revision(head: Head, kind: DefinitionKind, name: str, author: Author, **fields: Any) -> Definition:
    return Definition(
        team_id=head.team,
        kind=kind,
        id=name,
        rev=head.last + 1,
        written_at=author.at,
        written_by=author.by,
        rolled_back_to=author.rolled_back_to,
        **fields,
    )


def after(head: Head, changes: Sequence[Change], *, share: int | None, at: datetime) -> Next | None:
    """The next head; None if nothing changes. `share`: percent of new runs of a canary. Raises Conflict beside a
    canary, Invalid for more definitions than a team may have."""
    made = [change.after for change in changes if change.after is not None]
    if not made:
        return None
    head.check_no_canary()
    entries, rev = dict(head.current.entries), head.last + 1
    for one in made:
        entries.pop(entry(one.kind, one.id), None)
        if not one.deleted:
            entries[entry(one.kind, one.id)] = rev
    if len(entries) > DEFINITIONS_PER_TEAM:
        raise Invalid("too_many", f"expected at most {DEFINITIONS_PER_TEAM} definitions of a team, not {len(entries)}")
    new = DefinitionSet(team_id=head.team, rev=rev, entries=entries)
    changed = replace(head, version=head.version + 1, last=rev, synced=False)
    if share is None:
        return Next(replace(changed, current=new), changes)
    canary = Canary(rev=rev, share=share, since=at)
    current = head.current.model_copy(update={"canary": canary})
    return Next(replace(changed, current=current, candidate=new), changes)


def with_share(head: Head, share: int) -> Head:
    """Raises Conflict where there is no canary, as the next two."""
    canary, _ = _canary(head)
    current = head.current.model_copy(update={"canary": canary.model_copy(update={"share": share})})
    return replace(head, current=current, version=head.version + 1, synced=False)


def promoted(head: Head) -> Head:
    _, candidate = _canary(head)
    return replace(head, current=candidate, candidate=None, version=head.version + 1, synced=False)


def aborted(head: Head) -> Head:
    _canary(head)
    current = head.current.model_copy(update={"canary": None})
    return replace(head, current=current, candidate=None, version=head.version + 1, synced=False)


def _canary(head: Head) -> tuple[Canary, DefinitionSet]:
    if head.current.canary is None or head.candidate is None:
        raise Conflict("no_canary", "there is no canary: apply definitions with a share of new runs first")
    return head.current.canary, head.candidate
