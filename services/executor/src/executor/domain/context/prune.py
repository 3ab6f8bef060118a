"""Pruning: long results of tools are shortened, then old ones cleared, once a prompt fills much of its window."""

from collections.abc import Sequence

from executor.domain.context.tokens import conversation_tokens, message_tokens
from rota_contracts.messages.trigger import Message

KEEP_LAST_ASSISTANTS = 3
SOFT_TRIM_RATIO, HARD_CLEAR_RATIO = 0.3, 0.5
"""Shares of the window from which results are shortened, and cleared."""

SOFT_TRIM_CHARS, HEAD_CHARS, TAIL_CHARS = 4_000, 1_500, 1_500
MIN_PRUNABLE_TOOL_CHARS = 50_000
"""Characters of all results that can be cleared: with fewer, none is."""

CLEARED = "[Old tool result content cleared]"


def prune(history: Sequence[Message], *, window: int, around: int = 0) -> list[Message]:
    """The history with shorter results; `around`: tokens of the prompt beside it.

    Protected: everything but results, what stands before the first user's message, and all from the third last
    assistant's message on.
    """
    made, used = list(history), around + conversation_tokens(history)
    if used < SOFT_TRIM_RATIO * window:
        return made
    prunable = _prunable(history)
    for index in prunable:
        text = made[index].text()
        if len(text) > SOFT_TRIM_CHARS:
            used += _replace(made, index, f"{text[:HEAD_CHARS]}...{text[-TAIL_CHARS:]}")
    if sum(len(made[index].text()) for index in prunable) < MIN_PRUNABLE_TOOL_CHARS:
        return made
    for index in prunable:
        if used < HARD_CLEAR_RATIO * window:
            break
        used += _replace(made, index, CLEARED)
    return made


def _prunable(history: Sequence[Message]) -> list[int]:
    """Places of the results that aren't protected, oldest first."""
    assistants = [index for index, message in enumerate(history) if message.role == "assistant"]
    if len(assistants) <= KEEP_LAST_ASSISTANTS:
        return []
    return [index for index in range(assistants[-KEEP_LAST_ASSISTANTS]) if history[index].role == "tool"]


def _replace(messages: list[Message], index: int, text: str) -> int:
    """Returns the tokens that this adds, which are fewer than none."""
    before = message_tokens(messages[index])
    messages[index] = messages[index].model_copy(update={"content": text})
    return message_tokens(messages[index]) - before
