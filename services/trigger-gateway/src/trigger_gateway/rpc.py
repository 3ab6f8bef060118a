"""Questions to other services, with failures worded for the gateway's callers, who must not read addresses."""

from typing import Any, TypeVar

from rota_common.bus.rpc import Ask
from rota_common.errors import Permanent, Transient
from rota_contracts.catalog import Question
from rota_contracts.model import Part
from trigger_gateway.problems import Invalid

A = TypeVar("A", bound=Part)


async def call(
    ask: Ask, question: Question[Any, A], request: Part, *, within: float | None = None, show_reason: bool = False
) -> A:
    """The reply. Raises Transient when there is none `within` so many seconds, Invalid when it is refused.

    `show_reason`: a refusal of this question is worded for people already.
    """
    try:
        return await ask(question, request, timeout=within)
    except Transient as error:
        raise Transient(f"the {question.answered_by} doesn't answer now") from error
    except Permanent as error:
        text = str(error) if show_reason else f"the {question.answered_by} refuses this request"
        raise Invalid("refused", text) from error
