"""Signals to runs: control, interventions and callback results.

A signal is stored in the run's inbox first; then the worker that holds the run is notified.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from executor.domain.planning.interpret import room
from executor.domain.run import CALLBACK, DEADLINE, Run, Signal, deadline_id
from executor.domain.signals.limits import FULL, TOO_LONG, size_of
from executor.domain.texts import owner_of
from executor.file_ports import Blobs
from executor.ports import Runs, Scope, SignalResult
from executor.publish import EventPublisher
from executor.runs.worker import RunWorker
from rota_common.clock import Clock
from rota_common.errors import Permanent, Transient
from rota_common.redaction import without_credentials
from rota_common.runtime.logs import logger
from rota_contracts.envelope import Event
from rota_contracts.ids import derived_id
from rota_contracts.json_values import unstorable
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.control import (
    INTERVENTION_LIMIT,
    Control,
    ControlAction,
    ControlGivenV1,
    ControlReply,
    Intervene,
    InterveneReply,
)
from rota_contracts.messages.text import Text

RESUMED_AT_ONCE = 16
CANDIDATES_LIMIT = 20
"""Executions that an intervention's reply names when the request didn't say which one it means."""

CANCELS_STEP = (ControlAction.STOP, DEADLINE)
"""Signals that cancel the current step; all others wait until it is done."""

LOG = logger(service="executor")


@dataclass(frozen=True, kw_only=True)
class SendSignal:
    """Sends signals, and resumes the runs that no worker holds."""

    runs: Runs
    worker: RunWorker
    publisher: EventPublisher
    clock: Clock
    _free: asyncio.Semaphore = field(init=False, default_factory=lambda: asyncio.Semaphore(RESUMED_AT_ONCE))
    _tasks: set[asyncio.Task[None]] = field(init=False, default_factory=set)

    async def control(self, request: Control) -> ControlReply:
        """Pause, resume or stop. The same request id twice is one signal."""
        scope = Scope(request.team_id, request.member_id, request.execution_id)
        signal = Signal(
            id=request.request_id,
            action=request.action,
            reason=request.reason,
            of_robot=request.execution_id is None,
            at=self.clock(),
        )
        signalled = await self(scope, signal)
        if request.execution_id is None or signalled:
            return ControlReply(execution_ids=[run.id for run in signalled])
        run = await self.runs.find(request.execution_id)
        if run is None or run.execution.team_id != request.team_id:
            return ControlReply(execution_ids=[], unknown=True)
        if not run.over:
            return ControlReply(execution_ids=[], refused=FULL)
        return ControlReply(execution_ids=[], over=run.execution.status)

    async def intervene(self, request: Intervene) -> InterveneReply:
        """Intervene in the named execution, or in the robot's only one. Permanent: it can't be stored."""
        if problem := unstorable(request.model_dump(mode="json")):
            raise Permanent(problem)
        run_id = request.execution_id
        if run_id is None:
            candidates = await self.runs.under_way(request.team_id, request.member_id, limit=CANDIDATES_LIMIT)
            if len(candidates) != 1:
                return InterveneReply(candidates=list(candidates))
            run_id = candidates[0]
        if request.starts:
            return InterveneReply(refused=f"{run_id} has begun, {', '.join(request.starts)} can't change any more")
        signal = Signal(
            id=request.intervention_id,
            action=request.action,
            messages=request.messages,
            task=request.task,
            goal=request.goal,
            role=request.role,
            at=self.clock(),
        )
        owner = (request.team_id, request.member_id)
        if size_of(signal) > INTERVENTION_LIMIT:
            raise Permanent(TOO_LONG)
        if await self(Scope(*owner, run_id), signal):
            return InterveneReply(execution_id=run_id)
        run = await self.runs.find(run_id)
        if run is None or (run.execution.team_id, run.execution.member_id) != owner:
            return InterveneReply()
        return InterveneReply(over=run.execution.status) if run.over else InterveneReply(refused=FULL)

    async def __call__(self, scope: Scope, signal: Signal) -> Sequence[Run]:
        """Signal all runs in scope; returns those that have the signal."""
        signalled = await self.runs.send_signal(scope, signal)
        for run in signalled:
            await self.publisher.intervened(run, signal)
        ids = [run.id for run in signalled]
        if ids:
            await self.publisher.control(scope, signal, ids)
        self.cancel_steps(signal.action, ids)
        self.resume(ids)
        return signalled

    def on_control_given(self, event: Event[ControlGivenV1]) -> None:
        """Another replica has signalled runs that this one may hold. A missed event costs nothing but time: the
        inbox is read with the run's next write."""
        self.cancel_steps(event.data.action, event.data.execution_ids)

    def cancel_steps(self, action: str, run_ids: Sequence[str]) -> None:
        """Cancel the current step of those runs that this process holds, if the signal calls for it."""
        if action in CANCELS_STEP:
            for run_id in run_ids:
                self.worker.active_runs.cancel_step(run_id)

    def resume(self, run_ids: Sequence[str]) -> None:
        """Resume these runs in the background."""
        for run_id in run_ids:
            task = asyncio.create_task(self._resume(run_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def idle(self) -> None:
        """Return once no run is being resumed."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _resume(self, run_id: str) -> None:
        async with self._free:
            try:
                await self.worker.resume(run_id)
            except Transient:  # a worker holds it, and reads the inbox with its next write
                return
            except Exception as error:  # the run is unchanged: its claim ends, and the sweeper takes it up
                LOG.exception("could not go on", execution_id=run_id, reason=repr(error))


@dataclass(frozen=True, kw_only=True)
class TakeResult:
    """Takes a promised result. It is stored with its run before the reply, so no crash loses it."""

    runs: Runs
    blobs: Blobs
    send: SendSignal
    clock: Clock

    async def __call__(self, request: CallBack) -> CallbackReply:
        """The first result counts; it may come before the process's own answer."""
        run = await self.runs.by_callback(request.callback_id)
        if run is None:
            return CallbackReply()
        found = CallbackReply(team_id=run.execution.team_id, execution_id=run.id)
        if run.over:  # the output isn't needed, but a repeated result must be answered as such
            return await self._deliver(found, Signal(id=_signal_id(request), action=CALLBACK, at=self.clock()))
        output = None if request.error is not None else await self._text(request, run)
        signal = Signal(
            id=_signal_id(request),
            action=CALLBACK,
            callback=request.callback_id,
            output=output,
            error=request.error and without_credentials(request.error),
            at=self.clock(),
        )
        return await self._deliver(found, signal)

    async def _deliver(self, found: CallbackReply, signal: Signal) -> CallbackReply:
        run_id = found.execution_id or ""
        match await self.runs.deliver_signal(run_id, signal):
            case SignalResult.DUPLICATE:
                return found.model_copy(update={"repeated": True})
            case SignalResult.FINISHED:
                run = await self.runs.find(run_id)
                return found.model_copy(update={"over": run.execution.status if run else None})
            case SignalResult.ACCEPTED:
                self.send.resume([run_id])
                return found

    async def _text(self, request: CallBack, run: Run) -> Text:
        output = request.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return await self.blobs.keep(without_credentials(text), owner=owner_of(run), inline_limit=room(run))


def _signal_id(request: CallBack) -> str:
    """Signal ids are public once they are applied; a callback's own id is a secret."""
    return derived_id("callback", request.callback_id)


def deadline_signal(run: Run, clock: Clock) -> Signal:
    """The signal that a run's working time is over."""
    return Signal(id=deadline_id(run.parks), action=DEADLINE, at=clock())
