"""Saying something to runs under way: into their documents first, then to whoever has them in hand (TG-16, F11)."""

import asyncio
from collections.abc import Sequence

from executor.domain.planning.interpret import unstorable
from executor.domain.run import DEADLINE, Run, Signal, deadline_id
from executor.ports import Runs, Scope
from executor.publish import EventPublisher
from executor.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.runtime.logs import logger
from rota_contracts.messages.control import Control, ControlAction, ControlReply, Intervene, InterveneReply

AT_ONCE = 16
"""Runs that are gone on with at once, after a word to many."""

MANY = 20
"""Candidates that are named where an intervention doesn't say which run it means."""

CUTS_SHORT = (ControlAction.STOP, DEADLINE)
"""Words that end the step in hand; for all others it is finished first (DEC-16)."""


class SendSignal:
    """`cut_short` also serves the broadcast of other replicas."""

    def __init__(self, runs: Runs, drive: RunWorker, announce: EventPublisher, clock: Clock) -> None:
        self._runs, self._drive, self._announce, self._clock = runs, drive, announce, clock
        self._free = asyncio.Semaphore(AT_ONCE)
        self._going: set[asyncio.Task[None]] = set()
        self._log = logger(service="executor")

    async def control(self, asked: Control) -> ControlReply:
        """Pause, resume or stop. Asked twice with one request id, it is said once."""
        scope = Scope(asked.team_id, asked.member_id, asked.execution_id)
        word = Signal(id=asked.request_id, action=asked.action, reason=asked.reason, at=self._clock())
        told = await self(scope, word)
        if asked.execution_id is None or told:
            return ControlReply(execution_ids=[run.id for run in told])
        run = await self._runs.find(asked.execution_id)
        if run is None or run.execution.team_id != asked.team_id:
            return ControlReply(execution_ids=[], unknown=True)
        return ControlReply(execution_ids=[], over=run.execution.status)

    async def intervene(self, asked: Intervene) -> InterveneReply:
        """Into the run that is named, or the robot's only one (DEC-35). Permanent: it can't be kept."""
        if problem := unstorable(asked.model_dump(mode="json")):
            raise Permanent(problem)
        run_id = asked.execution_id
        if run_id is None:
            candidates = await self._runs.under_way(asked.team_id, asked.member_id, limit=MANY)
            if len(candidates) != 1:
                return InterveneReply(candidates=candidates)
            run_id = candidates[0]
        word = Signal(
            id=asked.intervention_id,
            action=asked.action,
            messages=asked.messages,
            task=asked.task,
            goal=asked.goal,
            at=self._clock(),
        )
        if await self(Scope(asked.team_id, asked.member_id, run_id), word):
            return InterveneReply(execution_id=run_id)
        run = await self._runs.find(run_id)
        mine = run is not None and (run.execution.team_id, run.execution.member_id) == (asked.team_id, asked.member_id)
        return InterveneReply(over=run.execution.status if run is not None and mine else None)

    async def __call__(self, scope: Scope, word: Signal) -> list[Run]:
        """The runs that the word was given to."""
        told = await self._runs.send_signal(scope, word)
        for run in told:
            await self._announce.intervened(run, word)
        ids = [run.id for run in told]
        if ids:
            await self._announce.control(scope.team, scope.member, word.action, ids, word.reason)
        self.cut_short(word.action, ids)
        self.go_on(ids)
        return told

    def go_on(self, run_ids: Sequence[str]) -> None:
        """Go on with these runs, to whom something was said, without waiting for it."""
        for run_id in run_ids:
            going = asyncio.create_task(self._go_on(run_id))
            self._going.add(going)
            going.add_done_callback(self._going.discard)

    def cut_short(self, action: str, run_ids: list[str]) -> None:
        """End the step in hand of those of these runs that this process works on."""
        if action in CUTS_SHORT:
            for run_id in run_ids:
                self._drive.active_runs.interrupt(run_id)

    async def _go_on(self, run_id: str) -> None:
        """Whoever has the run in hand hears the word with its next write; a run that waits is gone on with here."""
        async with self._free:
            try:
                await self._drive.resume(run_id)
            except Transient:
                return
            except Exception as error:  # it stays as it is: its claim ends, and the sweeper comes by
                self._log.exception("could not go on", execution_id=run_id, reason=repr(error))


def deadline_word(run: Run, clock: Clock) -> Signal:
    """What is said to a run that works for too long."""
    return Signal(id=deadline_id(run.parks), action=DEADLINE, at=clock())
