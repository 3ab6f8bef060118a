"""Copies of teams' definitions in the bucket `definitions`, and the executor's judgement of them."""

from nats.js.kv import KeyValue

from rota_common.bus.connection import Bus
from rota_common.bus.rpc import Ask
from rota_common.errors import Transient
from rota_contracts.catalog import CHECK_DEFINITIONS, COUNT_RUNS
from rota_contracts.definitions.definition import DefinitionSet, definition_key, set_key
from rota_contracts.messages.definition import CheckDefinitions, CountRuns, DefinitionProblems, RunCounts
from rota_contracts.streams import DEFINITIONS_BUCKET
from trigger_gateway import rpc
from trigger_gateway.adapters.nats_definitions import check_connected, transient
from trigger_gateway.adapters.put_if_newer import found_in, put_if_newer
from trigger_gateway.definitions.ports import Batch


class NatsDefinitionCopies:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._bucket: KeyValue | None = None

    def check(self) -> None:
        check_connected(self._bus)

    async def put(self, which: Batch) -> None:
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
            if not await put_if_newer(bucket, set_key(current.team_id), current, by="version"):
                raise Transient(f"the definitions of team {current.team_id} are being written concurrently: try again")

    async def current_sequence(self, team: str, version: int) -> int | None:
        bucket = await self._opened()
        with transient():
            there, sequence = await found_in(bucket, set_key(team), by="version")
        return sequence if there >= version else None

    async def remove(self, which: Batch) -> None:
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


class NatsDefinitionJudge:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def check(self, request: CheckDefinitions) -> DefinitionProblems:
        return await rpc.call(self._ask, CHECK_DEFINITIONS, request)

    async def count(self, request: CountRuns) -> RunCounts:
        return await rpc.call(self._ask, COUNT_RUNS, request)
