"""Copies of teams' definitions in the bucket `definitions`, and the executor's judgement of them."""

from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError
from nats.js.kv import KeyValue
from pydantic_core import from_json

from rota_common.bus.connection import Bus
from rota_common.bus.rpc import Ask
from rota_common.errors import Transient
from rota_contracts.catalog import CHECK_DEFINITIONS, COUNT_RUNS
from rota_contracts.definitions.definition import DefinitionSet, definition_key, set_key
from rota_contracts.messages.definition import CheckDefinitions, CountRuns, DefinitionProblems, RunCounts
from rota_contracts.streams import DEFINITIONS_BUCKET
from trigger_gateway import rpc
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.definitions.ports import Outdated

TRIES = 10


class NatsDefinitionCopies:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    def check(self) -> None:
        check_connected(self._bus)

    async def put(self, which: Outdated) -> None:
        bucket = await self._opened()
        with transient():
            for one in which.definitions:
                if not one.deleted:  # a set that names it no more says so
                    key = definition_key(one.team_id, one.kind, one.id, one.rev)
                    await bucket.put(key, one.model_dump_json().encode())
            for each in which.sets:
                await bucket.put(set_key(each.team_id, each.rev), each.model_dump_json().encode())

    async def put_current(self, current: DefinitionSet) -> None:
        bucket = await self._opened()
        with transient():
            for _ in range(TRIES):
                if await _put_if_newer(bucket, current):
                    return
        raise Transient(f"the definitions of team {current.team_id} are being written concurrently: try again")

    async def current_sequence(self, team: str, version: int) -> int | None:
        bucket = await self._opened()
        with transient():
            there, sequence = await _there(bucket, set_key(team))
        return sequence if there >= version else None

    async def remove(self, which: Outdated) -> None:
        keys = [definition_key(one.team_id, one.kind, one.id, one.rev) for one in which.definitions]
        await self._purge([*keys, *(set_key(each.team_id, each.rev) for each in which.sets)])

    async def remove_team(self, team: str) -> None:
        await self._purge([f"one.{team}.>", f"set.{team}.*", set_key(team)])

    async def _purge(self, keys: list[str]) -> None:
        """Deleting a key would leave a message under it for ever."""
        check_connected(self._bus)
        with transient():
            for key in keys:
                subject = f"$KV.{DEFINITIONS_BUCKET}.{key}"
                await self._bus.jetstream.purge_stream(f"KV_{DEFINITIONS_BUCKET}", subject=subject)

    async def _opened(self) -> KeyValue:
        check_connected(self._bus)
        with transient():
            self._bucket = self._bucket or await self._bus.jetstream.key_value(DEFINITIONS_BUCKET)
        return self._bucket


async def _there(bucket: KeyValue, key: str) -> tuple[int, int]:
    """The version of the current set in the bucket, and its sequence number; 0 where there is none."""
    try:
        found = await bucket.get(key)
        return int(from_json(found.value or b"")["version"]), found.revision or 0
    except KeyNotFoundError as missing:  # also for a key that was purged by hand: then it still has a revision
        return 0, (missing.entry.revision or 0) if missing.entry else 0


async def _put_if_newer(bucket: KeyValue, current: DefinitionSet) -> bool:
    """False if another replica wrote between our read and our write."""
    key = set_key(current.team_id)
    there, last = await _there(bucket, key)
    if there >= current.version:
        return True
    try:
        await bucket.update(key, current.model_dump_json().encode(), last=last)
    except KeyWrongLastSequenceError:
        return False
    return True


class NatsDefinitionJudge:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def check(self, request: CheckDefinitions) -> DefinitionProblems:
        return await rpc.call(self._ask, CHECK_DEFINITIONS, request)

    async def count(self, request: CountRuns) -> RunCounts:
        return await rpc.call(self._ask, COUNT_RUNS, request)
