"""Changes of a team's definitions: several at once make one set, which is judged before it is stored.

Order: the executor's judgement → MongoDB → the copies that other services read. When copying fails the answer is 503
and says that the change is stored: the sweep copies it as soon as possible, and a repeat of the request is harmless.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from rota_common.clock import Clock
from rota_contracts.definitions.definition import DEFINITIONS_PER_TEAM, Definition, DefinitionKind, entry
from rota_contracts.messages.definition import CheckDefinitions, WrittenDefinition
from trigger_gateway.definitions.ports import DefinitionJudge, DefinitionStore
from trigger_gateway.definitions.record import (
    Author,
    Change,
    Head,
    Next,
    after,
    changes_of,
    check_written,
    deletion,
)
from trigger_gateway.definitions.write_head import WriteHead
from trigger_gateway.problems import FieldProblem, Invalid, NotFound

Decide = Callable[[Head], Awaitable[Sequence[Change]]]


@dataclass(frozen=True)
class Applied:
    """`rev`: of the set that holds these changes."""

    rev: int
    changes: Sequence[Change]


@dataclass(frozen=True, kw_only=True)
class ApplyDefinitions:
    store: DefinitionStore
    write: WriteHead
    judge: DefinitionJudge
    clock: Clock

    async def __call__(
        self,
        team: str,
        written: Sequence[WrittenDefinition],
        *,
        by: str,
        prune: bool = False,
        share: int | None = None,
        dry_run: bool = False,
    ) -> Applied:
        """`prune`: those that aren't written are deleted. `share`: percent of new runs that begin with the new set, as
        a canary. Raises Invalid, with every field that is wrong."""
        check_written(written)
        author = Author(by, self.clock())

        async def decide(head: Head) -> Sequence[Change]:
            entries = head.current.entries
            names = [*entries] if prune else [entry(each.kind, each.id) for each in written]
            there = await self.store.read(team, {name: entries[name] for name in names if name in entries})
            return changes_of(head, there, written, prune=prune, author=author)

        return await self._commit(team, decide, author=author, share=share, dry_run=dry_run)

    async def delete(self, team: str, kind: DefinitionKind, definition_id: str, *, by: str) -> Applied:
        author = Author(by, self.clock())

        async def decide(head: Head) -> Sequence[Change]:
            return [deletion(head, await self._current(head, kind, definition_id), author)]

        return await self._commit(team, decide, author=author)

    async def roll_back(
        self, team: str, kind: DefinitionKind, definition_id: str, *, by: str, to: int | None = None
    ) -> Applied:
        """To this revision, or to the one before the current one; also of one that was deleted."""
        known = await self.store.revisions(team, kind, definition_id)

        async def decide(head: Head) -> Sequence[Change]:
            name = entry(kind, definition_id)
            now = head.current.entries.get(name)
            wanted = next((one for one in known if not one.deleted and _is(one, to, before=now)), None)
            if wanted is None:
                which = f"revision {to}" if to else "an earlier revision"
                raise NotFound("revision_not_found", f"{name} has no {which}: see the history of its revisions")
            there = await self.store.read(team, {} if now is None else {name: now})
            written = WrittenDefinition(kind=kind, id=definition_id, spec=wanted.spec)
            author = Author(by, self.clock(), rolled_back_to=wanted.rev)
            return changes_of(head, there, [written], prune=False, author=author)

        return await self._commit(team, decide, author=Author(by, self.clock()))

    async def _current(self, head: Head, kind: DefinitionKind, definition_id: str) -> Definition:
        rev = head.current.entries.get(entry(kind, definition_id))
        found = None if rev is None else await self.store.find(head.team, kind, definition_id, rev)
        if found is None:
            raise no_definition(head.team, kind, definition_id)
        return found

    async def _commit(
        self, team: str, decide: Decide, *, author: Author, share: int | None = None, dry_run: bool = False
    ) -> Applied:
        async def make(head: Head) -> Next:
            changes = await decide(head)
            made = after(head, changes, share=share, at=author.at)
            if made is None:
                return Next(head, changes)
            await self._check(team, made)
            return made

        made = await self.write(team, make, at=author.at, dry_run=dry_run)
        return Applied(made.new_set.rev if made.definitions else made.head.current.rev, made.changes)

    async def _check(self, team: str, made: Next) -> None:
        """Raises Invalid for what can't work beside all others and the platform's."""
        written = [
            WrittenDefinition(kind=one.kind, id=one.id, spec=one.spec) for one in made.definitions if not one.deleted
        ]
        request = CheckDefinitions(
            team_id=team, definitions=written[:DEFINITIONS_PER_TEAM], entries=[*made.new_set.entries]
        )
        found = (await self.judge.check(request)).problems
        fields = [FieldProblem(f"{entry(each.kind, each.id)} {each.field}".strip(), each.message) for each in found]
        if fields:
            raise Invalid("invalid_definition", "the definitions can't work", fields=fields)


def _is(one: Definition, to: int | None, *, before: int | None) -> bool:
    """Is it the wanted one? Of the newest first, the first that is older than the current one if none is named."""
    if to is not None:
        return one.rev == to
    return before is None or one.rev < before


def no_definition(team: str, kind: DefinitionKind, definition_id: str) -> NotFound:
    return NotFound("definition_not_found", f"team {team} has no {kind.value} {definition_id} of its own")
