"""Asking other services: their failures are worded for the gateway's caller, who must not read their addresses."""

from typing import Any, TypeVar

from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import Question
from rota_contracts.model import Part
from trigger_gateway.problems import Invalid

A = TypeVar("A", bound=Part)


async def asked(
    ask: Ask, question: Question[Any, A], request: Part, *, within: float | None = None, tell: bool = False
) -> A:
    """The answer. Raises Transient when there is none `within` so many seconds, Invalid when it is refused.

    `tell`: a refusal of this question is worded for people already.
    """
    try:
        return await ask(question, request, timeout=within)
    except Transient as error:
        raise Transient(f"the {question.answered_by} doesn't answer now") from error
    except Permanent as error:
        text = str(error) if tell else f"the {question.answered_by} refuses this question"
        raise Invalid("refused", text) from error
