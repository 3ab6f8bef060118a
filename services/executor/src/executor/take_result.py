"""A result that was promised is here: into its run, where no crash loses it, and only then is it answered (TG-01)."""

import json

from executor.domain.planning.interpret import room
from executor.domain.run import CALLBACK, Signal
from executor.ports import Runs, SignalResult
from executor.signals import SendSignal
from rota_common.clock import Clock
from rota_common.stores.blobs import Blobs
from rota_contracts.ids import derived_id
from rota_contracts.messages.callback import CallBack, CallbackReply
from rota_contracts.messages.text import Text


class TakeResult:
    def __init__(self, runs: Runs, blobs: Blobs, give: SendSignal, clock: Clock) -> None:
        self._runs, self._blobs, self._give, self._clock = runs, blobs, give, clock

    async def __call__(self, asked: CallBack) -> CallbackReply:
        """The first result counts; it may be here before the process's own answer is."""
        run = await self._runs.by_callback(asked.callback_id)
        if run is None:
            return CallbackReply()
        whose = CallbackReply(team_id=run.execution.team_id, execution_id=run.id)
        if run.over:  # nothing needs to be kept; had it been here before?
            return await self._answer(whose, Signal(id=_id(asked), action=CALLBACK, at=self._clock()))
        output = None if asked.error is not None else await self._text(asked, room(run))
        word = Signal(
            id=_id(asked),
            action=CALLBACK,
            callback=asked.callback_id,
            output=output,
            error=asked.error,
            at=self._clock(),
        )
        return await self._answer(whose, word)

    async def _answer(self, whose: CallbackReply, word: Signal) -> CallbackReply:
        run_id = whose.execution_id or ""
        match await self._runs.deliver_signal(run_id, word):
            case SignalResult.DUPLICATE:
                return whose.model_copy(update={"repeated": True})
            case SignalResult.FINISHED:
                run = await self._runs.find(run_id)
                return whose.model_copy(update={"over": run.execution.status if run else None})
            case SignalResult.ACCEPTED:
                self._give.go_on([run_id])
                return whose

    async def _text(self, asked: CallBack, inline_limit: int) -> Text:
        output = asked.output
        text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        return await self._blobs.keep(text, inline_limit=inline_limit)


def _id(asked: CallBack) -> str:
    """Everybody may see a word's id once it is heard; the callback's own id is a secret."""
    return derived_id("callback", asked.callback_id)
