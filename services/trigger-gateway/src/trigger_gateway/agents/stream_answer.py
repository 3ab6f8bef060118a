"""The answer of a called agent while it is written: its pieces, then the whole reply."""

import asyncio
from collections.abc import AsyncGenerator

from rota_common.bus.live import LiveEvents
from rota_contracts.catalog import ANSWER_PIECE
from rota_contracts.messages.agent import AgentReply, AnswerPieceV1, CallAgent
from trigger_gateway.agents.call_team_agent import CallTeamAgent


async def stream_answer(
    live: LiveEvents, call_agent: CallTeamAgent, question: CallAgent
) -> AsyncGenerator[AnswerPieceV1 | AgentReply]:
    """A repeat of a call that has its answer already gets that answer, without pieces. Raise as `answer` does."""
    async with live.listen([ANSWER_PIECE], team=question.team_id, member=question.member_id) as heard:
        answering = asyncio.create_task(call_agent.answer(question))
        try:
            while not answering.done():
                hearing = asyncio.create_task(heard.next())
                await asyncio.wait([answering, hearing], return_when=asyncio.FIRST_COMPLETED)
                if not hearing.done():
                    hearing.cancel()
                elif (piece := hearing.result().data).call_id == question.call_id:
                    yield piece
            yield answering.result()
        finally:  # the executor goes on: its answer is kept for a repeat
            answering.add_done_callback(lambda done: done.cancelled() or done.exception())
            answering.cancel()
