"""The knowledge that teams share: collections of entries, found by meaning."""

from dataclasses import dataclass

from memory.domain import CANDIDATES, Shelf, fitting, newest, ranked, searchable
from memory.ports import Embedder, SharedEntries
from rota_contracts.messages.memory import ForgetReply, SearchShared, SearchSharedReply, Share, ShareReply, Unshare


@dataclass(frozen=True, kw_only=True)
class SharedKnowledge:
    shared: SharedEntries
    embedder: Embedder

    async def share(self, request: Share) -> ShareReply:
        """Keep entries in the team's collections."""
        entries = newest(request.entries)
        vectors = await self.embedder.embed([f"{entry.title}\n{entry.content}".strip() for entry in entries])
        await self.shared.keep(request.team_id, list(zip(entries, vectors, strict=True)))
        return ShareReply(count=len(entries))

    async def unshare(self, request: Unshare) -> ForgetReply:
        """Remove entries of a collection, or the whole collection."""
        shelf = Shelf(request.team_id, request.collection)
        if request.ids is None:
            return ForgetReply(count=await self.shared.clear(shelf))
        return ForgetReply(count=await self.shared.remove(shelf, request.ids))

    async def search(self, request: SearchShared) -> SearchSharedReply:
        """The team's entries that fit the query best."""
        collections = searchable(request.collections) or None
        if not request.query.strip():
            return SearchSharedReply()
        (vector,) = await self.embedder.embed([request.query])
        near = await self.shared.nearest(request.team_id, vector, CANDIDATES * request.limit, collections=collections)
        return SearchSharedReply(entries=fitting(ranked(request.query, near, limit=request.limit)))
