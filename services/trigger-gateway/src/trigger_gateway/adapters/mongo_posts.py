"""Posts in MongoDB: written in batches in the background, removed by age and beyond a team's share."""

import asyncio
import json
from collections import Counter
from datetime import timedelta

from pymongo import InsertOne, ReplaceOne
from pymongo.errors import BulkWriteError, PyMongoError

from rota_common.runtime.logs import logger
from rota_common.stores.mongo import OUTAGES, Database, Document, remove_after
from rota_contracts.streams import MIB
from trigger_gateway.webhooks.posts import REFUSED_PART, KeptPost, PostLimits

COLLECTION = "posts"
GATHER_S = 1.0
"""A write costs as much as twenty posts in it. Nothing waits for a post, as requests do for lines of the log."""

WAITING_BYTES = 32 * MIB
WAITING_OF_TEAM = 4 * MIB
"""In memory until the next write, and while MongoDB is away; a post beyond that isn't kept."""

CHECKS = 16
"""A team's share is looked at whenever a sixteenth of it has been written, and then has room for another one."""

DUPLICATE = 11000

Owner = tuple[str, bool]
"""A team, and whether its refused posts are meant: each has a share of its own."""


class MongoPosts:
    """`_id` is the id of the post's line in the inbound log."""

    def __init__(self, database: Database, limits: PostLimits, *, service: str) -> None:
        self._database = database
        self._posts = database[COLLECTION]
        self._limits = limits
        self._waiting: dict[str, KeptPost] = {}
        self._waiting_bytes = Counter[Owner]()
        self._unchecked: dict[Owner, int] = {}
        self._writing = asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None
        self._log = logger(service=service)

    async def prepare(self) -> None:
        await remove_after(self._database, COLLECTION, "at", timedelta(days=self._limits.days))
        await self._posts.create_index([("team", 1), ("refused", 1), ("at", 1), ("size", 1)])

    def take(self, key: str, post: KeptPost) -> None:
        """Have it written. The first post of an event stays, the last one of a line of refused posts."""
        there = self._waiting.get(key)
        if not self._limits.days or (there and not post.refused):
            return
        owner, more = (post.team, post.refused), post.weight - (there.weight if there else 0)
        limit = WAITING_OF_TEAM // (REFUSED_PART if post.refused else 1)
        if self._waiting_bytes[owner] + more <= limit and self._waiting_bytes.total() + more <= WAITING_BYTES:
            self._waiting[key] = post
            self._waiting_bytes[owner] += more
            if self._writer is None or self._writer.done():
                self._writer = asyncio.create_task(self._write_all())

    async def flush(self) -> None:
        """Return once all that was taken is written, or could not be."""
        async with self._writing:
            waiting, self._waiting, written = self._waiting, {}, self._waiting_bytes
            self._waiting_bytes = Counter()
            try:
                if waiting:
                    await self._write(waiting)
                for owner, weight in written.items():
                    await self._keep_share(owner, weight)
            except PyMongoError as error:
                self._log.warning("posts are not written", posts=len(waiting), reason=type(error).__name__)
                if isinstance(error, OUTAGES):
                    self._take_back(waiting)

    async def find(self, team: str, key: str) -> KeptPost | None:
        await self.flush()
        found = await self._posts.find_one({"_id": key, "team": team})
        if found is None:
            return None
        headers = json.loads(found["headers"])
        return KeptPost(team, found["at"], headers, found["body"], found["sent"], refused=found["refused"])

    async def _write_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(GATHER_S)
            await self.flush()

    def _take_back(self, posts: dict[str, KeptPost]) -> None:
        """For the next write; a later refused post of the same line stays."""
        for key, post in posts.items():
            if key not in self._waiting:
                self.take(key, post)

    async def _write(self, posts: dict[str, KeptPost]) -> None:
        try:
            await self._posts.bulk_write([_write_of(key, post) for key, post in posts.items()], ordered=False)
        except BulkWriteError as error:
            if any(each["code"] != DUPLICATE for each in (error.details or {}).get("writeErrors", ())):
                raise

    async def _keep_share(self, owner: Owner, weight: int) -> None:
        """Other replicas write too, and what is old goes by itself: so what there is gets counted, now and then."""
        share = self._limits.share(refused=owner[1])
        step = share // CHECKS
        self._unchecked[owner] = self._unchecked.get(owner, share) + weight
        if not share or self._unchecked[owner] < step:
            return
        self._unchecked[owner] = 0
        excess = await self._kept_bytes(owner) - (share - step)
        if excess > 0:
            await self._remove_oldest(owner, excess)

    async def _kept_bytes(self, owner: Owner) -> int:
        """Read from the index alone."""
        mine: Document = {"$match": _of(owner)}
        summed: Document = {"$group": {"_id": None, "bytes": {"$sum": "$size"}}}
        async for found in self._posts.aggregate([mine, summed]):
            return int(found["bytes"])
        return 0

    async def _remove_oldest(self, owner: Owner, excess: int) -> None:
        old = list[str]()
        async for found in self._posts.find(_of(owner), {"size": 1}).sort("at", 1):
            old.append(found["_id"])
            excess -= found["size"]
            if excess <= 0:
                break
        await self._posts.delete_many({"_id": {"$in": old}})


def _of(owner: Owner) -> Document:
    team, refused = owner
    return {"team": team, "refused": refused}


def _write_of(key: str, post: KeptPost) -> InsertOne[Document] | ReplaceOne[Document]:
    document: Document = {
        "_id": key,
        "team": post.team,
        "refused": post.refused,
        "at": post.at,
        "size": post.weight,
        "headers": json.dumps(post.headers),
        "body": post.body,
        "sent": post.size,
    }
    return ReplaceOne({"_id": key}, document, upsert=True) if post.refused else InsertOne(document)
