"""Definitions of a team's own: applied, listed, deleted, rolled back, and tried as a canary."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, Field

from rota_contracts.canary import Canary
from rota_contracts.definitions.definition import (
    DEFINITIONS_PER_TEAM,
    Definition,
    DefinitionId,
    DefinitionKind,
    entry,
)
from rota_contracts.messages.definition import RunCount, WrittenDefinition
from rota_contracts.model import Instant, Name
from trigger_gateway.definitions.apply_definitions import Applied, no_definition
from trigger_gateway.definitions.record import Head, Outcome
from trigger_gateway.http.auth_routes import CallerDep, team_router
from trigger_gateway.http.dependencies import UseCasesDep
from trigger_gateway.http.suppressions import author
from trigger_gateway.strict import Strict

router = team_router("definitions")

KindInPath = Annotated[DefinitionKind, Path(description="as in YAML's kind")]
IdInPath = Annotated[DefinitionId, Path(description="like experts.writer")]
Share = Annotated[int, Field(strict=True, ge=1, le=99, description="percent of new runs")]
Rev = Annotated[int, Query(ge=1)]


class WrittenInBody(Strict, WrittenDefinition):
    """`spec`: the fields of its kind."""


class WrittenDefinitions(Strict):
    """`prune`: the team's definitions that aren't among these are deleted. `dry_run`: nothing is stored. `canary`: the
    new set isn't the current one yet, but that of so many percent of new runs."""

    definitions: list[WrittenInBody] = Field(max_length=DEFINITIONS_PER_TEAM)
    prune: bool = Field(default=False, strict=True)
    dry_run: bool = Field(default=False, strict=True)
    canary: Share | None = None


class RollBack(Strict):
    to: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="a revision of its history; without one, the one before"
    )


class NewShare(Strict):
    share: Share


class DefinitionView(BaseModel):
    """One revision. `rolled_back_to`: the revision that it repeats."""

    kind: DefinitionKind
    id: str
    rev: int
    written_at: Instant
    written_by: str
    deleted: bool = False
    rolled_back_to: int | None = None


class DefinitionRead(DefinitionView):
    spec: dict[str, Any]


class DefinitionList(BaseModel):
    """`rev`: of the set that they make; 0 before there are any."""

    rev: int
    canary: Canary | None
    definitions: list[DefinitionView]


class Revisions(BaseModel):
    revisions: list[DefinitionView] = Field(description="the newest first; 20 of those that no run needs any more stay")


class DefinitionChange(BaseModel):
    """`before`, `after`: in a dry run, its spec."""

    kind: DefinitionKind
    id: str
    outcome: Outcome
    rev: int
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None


class AppliedDefinitions(BaseModel):
    """`rev`: of the set with these changes."""

    rev: int
    definitions: list[DefinitionChange]


class CanaryFigures(BaseModel):
    """`counts`: runs of the current set, then of the canary's, since it began."""

    rev: int
    canary: Canary
    counts: list[RunCount]


class Seen(BaseModel):
    """`rev`: of the team's current set. `executors` are alive, and `seen` of them know it."""

    rev: int
    executors: int
    seen: int


@router.post("/definitions", summary="Apply definitions: all of them, or none")
async def apply_definitions(
    team: Name, body: WrittenDefinitions, use: UseCasesDep, caller: CallerDep
) -> AppliedDefinitions:
    done = await use.definitions.apply(
        team,
        body.definitions,
        by=author(caller),
        prune=body.prune,
        share=body.canary,
        dry_run=body.dry_run,
    )
    return _applied(done, with_specs=body.dry_run)


@router.get("/definitions", summary="List the team's own definitions")
async def list_definitions(team: Name, use: UseCasesDep, kind: DefinitionKind | None = None) -> DefinitionList:
    """The platform's are in the lists of agents and connectors."""
    return await _listed(use, await use.definitions.store.head(team), kind)


@router.get("/definitions/seen", summary="Read how many executors know the team's current definitions")
async def read_definitions_seen(team: Name, use: UseCasesDep) -> Seen:
    head = await use.definitions.store.head(team)
    if head.version == 0:
        sequence: int | None = 0
    else:
        sequence = await use.definitions.copies.current_sequence(team, head.version)
    executors, seen = use.definitions.executors.count(sequence or 0)
    return Seen(rev=head.current.rev, executors=executors, seen=0 if sequence is None else seen)


@router.get("/definitions/canary", summary="Read how runs of the canary end, beside those of the current definitions")
async def read_canary(team: Name, use: UseCasesDep) -> CanaryFigures:
    head, counts = await use.definitions.canary.figures(team)
    assert head.current.canary is not None
    return CanaryFigures(rev=head.current.rev, canary=head.current.canary, counts=[*counts])


@router.put("/definitions/canary", summary="Change the canary's share of new runs")
async def change_canary(team: Name, body: NewShare, use: UseCasesDep) -> DefinitionList:
    return await _listed(use, await use.definitions.canary.set_share(team, body.share))


@router.post("/definitions/canary/promote", summary="Make the canary's definitions the current ones")
async def promote_canary(team: Name, use: UseCasesDep) -> DefinitionList:
    return await _listed(use, await use.definitions.canary.promote(team))


@router.post("/definitions/canary/abort", summary="End the canary: new runs begin with the current definitions alone")
async def abort_canary(team: Name, use: UseCasesDep) -> DefinitionList:
    return await _listed(use, await use.definitions.canary.abort(team))


@router.get("/definitions/{kind}/{id}", summary="Read a definition, or one of its revisions")
async def read_definition(
    team: Name, kind: KindInPath, id: IdInPath, use: UseCasesDep, rev: Rev | None = None
) -> DefinitionRead:
    store = use.definitions.store
    wanted = rev or (await store.head(team)).current.entries.get(entry(kind, id))
    found = None if wanted is None else await store.find(team, kind, id, wanted)
    if found is None:
        raise no_definition(team, kind, id)
    return DefinitionRead(**_fields(found), spec=found.spec)


@router.get("/definitions/{kind}/{id}/revisions", summary="List the revisions of a definition")
async def list_revisions(team: Name, kind: KindInPath, id: IdInPath, use: UseCasesDep) -> Revisions:
    found = await use.definitions.store.revisions(team, kind, id)
    if not found:
        raise no_definition(team, kind, id)
    return Revisions(revisions=[_view(one) for one in found])


@router.delete("/definitions/{kind}/{id}", summary="Delete a definition")
async def delete_definition(
    team: Name, kind: KindInPath, id: IdInPath, use: UseCasesDep, caller: CallerDep
) -> AppliedDefinitions:
    return _applied(await use.definitions.apply.delete(team, kind, id, by=author(caller)))


@router.post("/definitions/{kind}/{id}/rollback", summary="Write an earlier revision of a definition again")
async def roll_back_definition(
    team: Name, kind: KindInPath, id: IdInPath, body: RollBack, use: UseCasesDep, caller: CallerDep
) -> AppliedDefinitions:
    return _applied(await use.definitions.apply.roll_back(team, kind, id, by=author(caller), to=body.to))


async def _listed(use: UseCasesDep, head: Head, kind: DefinitionKind | None = None) -> DefinitionList:
    wanted = {name: rev for name, rev in head.current.entries.items() if kind in (None, name.partition("/")[0])}
    found = await use.definitions.store.read(head.team, wanted)
    shown = [_view(found[name]) for name in sorted(found)]
    return DefinitionList(rev=head.current.rev, canary=head.current.canary, definitions=shown)


def _view(one: Definition) -> DefinitionView:
    return DefinitionView(**_fields(one))


def _fields(one: Definition) -> dict[str, Any]:
    return one.model_dump(include={*DefinitionView.model_fields})


def _applied(done: Applied, *, with_specs: bool = False) -> AppliedDefinitions:
    return AppliedDefinitions(rev=done.rev, definitions=[*_changes(done, with_specs=with_specs)])


def _changes(done: Applied, *, with_specs: bool) -> Sequence[DefinitionChange]:
    return [
        DefinitionChange(
            kind=change.kind,
            id=change.id,
            outcome=change.outcome,
            rev=change.rev,
            before=change.before.spec if with_specs and change.before else None,
            after=change.after.spec if with_specs and change.after and not change.after.deleted else None,
        )
        for change in done.changes
    ]
