"""Fakes of the object stores and of the robots' bucket: held to the same tests as the real ones."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from time import monotonic
from uuid import uuid4

from rota_common.bus.robots import Robots
from rota_common.clock import now
from rota_common.errors import Permanent
from rota_common.stores.attachments import CHUNK, Attachments
from rota_common.stores.blobs import Blobs, Owner, gone, text_of
from rota_contracts.messages.attachment import StoredAttachment
from rota_contracts.messages.text import INLINE_LIMIT, Text
from rota_contracts.robots.robot import Robot


@dataclass(eq=False)
class _Outage:
    failure: Exception | None = None
    """Raised by every call while it is set."""

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure


@dataclass(eq=False)
class InMemoryBlobs(_Outage, Blobs):
    contents: dict[str, bytes] = field(default_factory=dict)
    """By name; a test may spoil one."""
    stored_at: dict[str, datetime] = field(default_factory=dict)
    """By name."""

    async def keep(self, text: str, *, owner: Owner, inline_limit: int = INLINE_LIMIT) -> Text:
        made = text_of(text, owner=owner, inline_limit=inline_limit)
        if made.ref is not None:
            self._check()
            self.contents[made.ref.name] = text.encode()
            self.stored_at[made.ref.name] = now()
        return made

    async def empty(self) -> bool:
        self._check()
        return not self.contents

    async def free(self, owner: Owner) -> None:
        self._check()
        for name in [name for name in self.contents if name.startswith(f"{owner}.")]:
            del self.contents[name], self.stored_at[name]

    async def free_team(self, team: str) -> None:
        self._check()
        for name in [name for name in self.contents if name.startswith(f"{team}.")]:
            del self.contents[name], self.stored_at[name]

    async def free_strays(self, *, before: datetime, is_kept: Callable[[Owner], Awaitable[bool]]) -> int:
        self._check()
        strays = [name for name, at in self.stored_at.items() if at < before]
        strays = [name for name in strays if "." not in name or not await is_kept(Owner(*name.split(".")[:2]))]
        for name in strays:
            del self.contents[name], self.stored_at[name]
        return len(strays)

    async def read(self, text: Text) -> str:
        self._check()
        if text.ref is None:
            return text.inline or ""
        raw = self.contents.get(text.ref.name)
        if raw is None:
            raise gone(text.ref)
        if sha256(raw).hexdigest() != text.ref.sha256:
            raise Permanent(f"object {text.ref.name} of bucket {text.ref.bucket} isn't what was stored there")
        return raw.decode()


@dataclass(eq=False)
class InMemoryAttachments(_Outage, Attachments):
    stored: dict[tuple[str, str], StoredAttachment] = field(default_factory=dict)
    """By team and file id."""
    contents: dict[str, bytes] = field(default_factory=dict)
    """By file id; a test may spoil one."""

    async def put(
        self,
        team: str,
        name: str,
        content_type: str,
        chunks: AsyncIterator[bytes],
        *,
        at: datetime,
        file_id: str | None = None,
    ) -> StoredAttachment:
        self._check()
        content = b"".join([chunk async for chunk in chunks])
        return self.add(team, name, content, content_type=content_type, at=at, file_id=file_id)

    def add(
        self, team: str, name: str, content: bytes, *, content_type: str, at: datetime, file_id: str | None = None
    ) -> StoredAttachment:
        """`put`, for tests that have the whole content."""
        stored = StoredAttachment(
            file_id=file_id or uuid4().hex,
            team_id=team,
            name=name,
            content_type=content_type,
            size=len(content),
            sha256=sha256(content).hexdigest(),
            created_at=at,
        )
        self.stored[team, stored.file_id] = stored
        self.contents[stored.file_id] = content
        return stored

    async def find(self, team: str, file_id: str) -> StoredAttachment | None:
        self._check()
        return self.stored.get((team, file_id))

    async def delete(self, team: str, file_id: str) -> None:
        self._check()
        if self.stored.pop((team, file_id), None):
            self.contents.pop(file_id, None)

    async def read(self, stored: StoredAttachment) -> AsyncIterator[bytes]:
        self._check()
        content = self.contents.get(stored.file_id, b"")
        chunks = [content[start : start + CHUNK] for start in range(0, len(content), CHUNK)]
        for chunk in chunks[:-1]:
            yield chunk
        if len(content) != stored.size or sha256(content).hexdigest() != stored.sha256:
            raise Permanent(f"the content of file {stored.file_id} isn't what was stored there")
        for chunk in chunks[-1:]:
            yield chunk


class InMemoryRobots(_Outage, Robots):
    def __init__(self, *robots: Robot) -> None:
        super().__init__()
        self.definitions = {(robot.team_id, robot.member_id): robot for robot in robots}
        self._followers = set[asyncio.Queue[bytes]]()

    def put(self, robot: Robot) -> None:
        """Store the definition, and pass it to all who follow."""
        self.definitions[robot.team_id, robot.member_id] = robot
        for follower in self._followers:
            follower.put_nowait(_json(robot))

    async def find(self, team: str, member: str) -> Robot | None:
        self._check()
        return self.definitions.get((team, member))

    async def known(self, team: str, member: str, *, rev: int | None = None) -> Robot | None:
        return await self.find(team, member)

    async def follow(self, *, seconds: float, stored: bool = True) -> AsyncGenerator[bytes | None]:
        self._check()
        until, changes = monotonic() + seconds, asyncio.Queue[bytes]()
        self._followers.add(changes)
        try:
            for robot in list(self.definitions.values()) if stored else []:
                yield _json(robot)
            yield None
            while (left := until - monotonic()) > 0:
                try:
                    yield await asyncio.wait_for(changes.get(), left)
                except TimeoutError:
                    return
        finally:
            self._followers.discard(changes)


def _json(robot: Robot) -> bytes:
    return robot.model_dump_json().encode()


@dataclass(eq=False)
class InMemoryTeamDocuments:
    """The teams whose removal was requested. The other fakes hold no documents: theirs end with the process."""

    removed: list[str] = field(default_factory=list)

    async def remove(self, team: str) -> None:
        self.removed.append(team)
