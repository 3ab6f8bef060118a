"""Definitions of teams, read from the bucket `definitions`, which the gateway writes."""

import contextlib
import math
from collections.abc import AsyncGenerator, Iterator

from nats.errors import Error as NatsError
from nats.js.errors import KeyNotFoundError
from nats.js.kv import KeyValue

from rota_common.bus.bucket_changes import bucket_changes
from rota_common.bus.connection import Bus
from rota_common.bus.definition_memory import DefinitionMemory
from rota_common.bus.followed import Followed
from rota_common.errors import Transient
from rota_contracts.definitions.definition import Definition, DefinitionKind, DefinitionSet, definition_key, set_key
from rota_contracts.streams import DEFINITIONS_BUCKET

LIMIT = 20_000_000
"""Bytes of sets in memory, and as many of definitions."""

CURRENT = ""
"""The name of a team's current set in memory."""


class TeamDefinitions:
    """Current sets are kept by the bucket's watch, for which `keep_current` is a loop of the service. Sets with a
    number and revisions never change; they are kept within the limit, for a minute at a time. All raise Transient while
    the bucket can't be read, and pydantic's ValidationError for what another version wrote."""

    def __init__(self, bus: Bus, *, limit: int = LIMIT) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None
        self._sets = DefinitionMemory[DefinitionSet](limit // 2)
        self._definitions = DefinitionMemory[Definition](limit)
        self._seen = 0
        self._current = Followed(
            bus,
            DefinitionSet.model_validate_json,
            limit=limit // 2,
            find=self._read_current,
            key_of=lambda head: (head["team_id"], CURRENT),
        )

    @property
    def sequence(self) -> int:
        """The sequence number of the bucket up to which current sets are known here; 0 while it isn't followed."""
        return self._seen if self._current.current else 0

    async def current(self, team: str) -> DefinitionSet:
        """The team's set of this moment; the empty one of a team that never wrote any."""
        return await self._current.known((team, CURRENT)) or DefinitionSet(team_id=team, rev=0)

    async def at(self, team: str, rev: int) -> DefinitionSet | None:
        """The set with this number; None if it isn't kept any more."""
        if rev == 0:
            return DefinitionSet(team_id=team, rev=0)
        name = str(rev)
        if found := self._sets.get((team, name)):
            return found
        text = await self._text(set_key(team, rev))
        if text is None:
            return None
        found = DefinitionSet.model_validate_json(text)
        self._sets.put((team, name), found)
        return found

    async def one(self, team: str, kind: DefinitionKind, definition_id: str, rev: int) -> Definition | None:
        """One revision of a definition; None if it isn't kept any more."""
        name = f"{kind.value}/{definition_id}/{rev}"
        if found := self._definitions.get((team, name)):
            return found
        text = await self._text(definition_key(team, kind, definition_id, rev))
        if text is None:
            return None
        found = Definition.model_validate_json(text)
        self._definitions.put((team, name), found)
        return found

    async def keep_current(self) -> bool:
        """Follow the current sets until the connection is interrupted, and then forget them. Always True."""
        await self._current.keep_current(self._changes())
        return True

    async def _changes(self) -> AsyncGenerator[bytes | None]:
        keys = set_key(">")
        changes = bucket_changes(self._bus, DEFINITIONS_BUCKET, keys=keys, seconds=math.inf, stored=False)
        async with contextlib.aclosing(changes):
            async for change in changes:
                yield change.text
                self._seen = change.seq  # once it is taken

    async def _read_current(self, team: str, _: str) -> DefinitionSet:
        text = await self._text(set_key(team))
        return DefinitionSet(team_id=team, rev=0) if text is None else DefinitionSet.model_validate_json(text)

    async def _text(self, key: str) -> bytes | None:
        if not self._bus.connected:
            raise Transient("NATS: not connected")
        with _transient():
            if self._bucket is None:
                self._bucket = await self._bus.jetstream.key_value(DEFINITIONS_BUCKET)
            try:
                return (await self._bucket.get(key)).value
            except KeyNotFoundError:
                return None


@contextlib.contextmanager
def _transient() -> Iterator[None]:
    try:
        yield
    except NatsError as error:
        raise Transient(f"NATS: {type(error).__name__}") from error
