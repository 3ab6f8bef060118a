"""The knowledge of robots: each robot's own entries, recalled by meaning."""

from dataclasses import dataclass
from datetime import datetime

from memory.domain import CANDIDATES, Owner, acceptable, fitting, outlived, ranked, revision, searchable
from memory.ports import Embedder, Entries, KnowledgeBases, Robots, SharedEntries, Vector
from rota_common.clock import Clock
from rota_contracts.envelope import Event
from rota_contracts.messages.memory import (
    Forget,
    ForgetReply,
    Recall,
    RecalledEntry,
    RecallReply,
    Remember,
    RememberReply,
)
from rota_contracts.messages.robot_facts import RobotChangedV1, RobotDeletedV1


@dataclass(frozen=True, kw_only=True)
class RobotKnowledge:
    entries: Entries
    shared: SharedEntries
    bases: KnowledgeBases
    robots: Robots
    embedder: Embedder
    clock: Clock

    async def remember(self, request: Remember) -> RememberReply:
        """Keep entries, unless their robot is deleted."""
        owner = Owner(request.team_id, request.member_id)
        rev = revision(await self.robots.find(owner.team, owner.member))
        entries = acceptable(request.entries, rev, await self.bases.find(owner))
        if not entries or rev is None:
            return RememberReply(count=0)
        vectors = await self.embedder.embed([entry.content for entry in entries])
        await self.entries.keep(owner, list(zip(entries, vectors, strict=True)), rev=rev)
        # The robot may have been deleted since it was read. Its end is noted before its entries are removed: either the
        # note is there now and these entries are removed here, or the removal is still to come and finds them.
        if outlived(await self.bases.find(owner), rev):
            await self.entries.remove(owner, [entry.id for entry in entries])
            return RememberReply(count=0)
        return RememberReply(count=len(entries))

    async def recall(self, request: Recall) -> RecallReply:
        """The robot's entries that fit the query best, and those of the collections that the request names."""
        collections = searchable(request.collections)
        if not request.query.strip():
            return RecallReply()
        (vector,) = await self.embedder.embed([request.query])
        owner = Owner(request.team_id, request.member_id)
        few = CANDIDATES * request.shared_limit
        near = await self._nearest(owner, vector, request)
        near_shared = await self.shared.nearest(owner.team, vector, few, collections=collections)
        entries = ranked(request.query, near, limit=request.limit, min_score=request.min_score)
        shared = ranked(request.query, near_shared, limit=request.shared_limit)
        return RecallReply(entries=fitting(entries), shared=fitting(shared))

    async def forget(self, request: Forget) -> ForgetReply:
        """Remove entries of a robot, or all, or all of a scope; with `before` only those that are older."""
        owner = Owner(request.team_id, request.member_id)
        if request.ids is None:
            removed = await self.entries.clear(owner, before=request.before, scope=request.scope)
            return ForgetReply(count=removed)
        return ForgetReply(count=await self.entries.remove(owner, request.ids, before=request.before))

    async def open_base(self, event: Event[RobotChangedV1]) -> None:
        """Note that the robot exists: its knowledge base begins with it."""
        await self.bases.open(_owner(event), rev=event.data.rev, at=event.time)

    async def close_base(self, event: Event[RobotDeletedV1]) -> None:
        """End the robot's knowledge base: noted first, then removed, in the order that `remember` relies on. A robot
        made anew since keeps its entries."""
        await self.bases.close(_owner(event), rev=event.data.rev, at=event.time)
        await self.entries.clear(_owner(event), up_to_rev=event.data.rev)

    async def _nearest(self, owner: Owner, vector: Vector, request: Recall) -> list[RecalledEntry]:
        """Of the scope that is asked for; none without one."""
        if request.scope is None:
            return []
        return await self.entries.nearest(
            owner,
            vector,
            CANDIDATES * request.limit,
            since=await self._kept_since(owner),
            scope=request.scope,
            rehearsed=request.rehearsed,
        )

    async def _kept_since(self, owner: Owner) -> datetime | None:
        """Older entries are no longer kept, even before they are removed."""
        robot = await self.robots.known(owner.team, owner.member)
        return robot.robot_config.learn.kept_since(self.clock()) if robot else None


def _owner(event: Event[RobotChangedV1] | Event[RobotDeletedV1]) -> Owner:
    return Owner(event.data.team_id, event.data.member_id)
