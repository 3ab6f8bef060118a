"""Asking for what takes long: in slices, so that an answerer who dies costs one slice and not the whole wait."""

import asyncio
from typing import TypeVar

from rota_common.bus.rpc import Ask, Unanswered
from rota_contracts.catalog import CALL_AGENT, Question
from rota_contracts.messages.agent import AgentReply, CallAgent
from rota_contracts.model import Part

Q = TypeVar("Q", bound=Part)
A = TypeVar("A", bound=Part)

SLICE_S = 10.0
"""How long one asking may stay without a word before whoever was asked is taken for dead."""

STILL_WORKING_S = 8.0
"""Whoever works longer answers StillWorking by then: within the slice, so that only the dead are silent."""

PAUSE_S = 1.0
"""Time between two askings at the least: with nobody there, each one fails at once."""

MARGIN_S = 5
"""Waited on top of an agent call's own limit, so that the executor can say that the limit was reached."""


async def ask_patiently(ask: Ask, question: Question[Q, A], request: Q, *, timeout: float, every: float = SLICE_S) -> A:
    """Ask the same again while nobody answers, for `timeout` seconds in all; each asking waits `every` seconds.

    The request needs an id of its own, under which it is answered once however often it is asked. Raises Unanswered
    at the end of the time, and at once what `ask` raises else.
    """
    time = asyncio.get_running_loop().time
    end = time() + timeout
    while True:
        asked_at = time()
        try:
            return await ask(question, request, timeout=min(every, end - asked_at))
        except Unanswered as error:
            again_at = max(time(), asked_at + PAUSE_S)
            if again_at >= end:
                raise Unanswered(f"no answer to {question.subject} within {timeout:g} s: {error}") from error
        await asyncio.sleep(again_at - time())


async def call_agent(ask: Ask, call: CallAgent) -> AgentReply:
    """An agent's answer by way of the executor, whichever of its replicas lives to give it."""
    return await ask_patiently(ask, CALL_AGENT, call, timeout=call.timeout + MARGIN_S)
