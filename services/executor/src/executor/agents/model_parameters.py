"""The parameters of models that a team may write: those that shape an answer.

All others stay the operator's: some name the address of a call, its key, its files or what it costs, and a team's agent
may be asked with a connector of the platform.
"""

from collections.abc import Iterable

PARAMETERS = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "max_completion_tokens",
        "max_tokens",
        "min_p",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "seed",
        "stop",
        "temperature",
        "thinking",
        "top_k",
        "top_p",
        "verbosity",
    }
)


def wrong_parameters(names: Iterable[str]) -> str:
    """What is wrong about these names; empty if nothing is."""
    unknown = sorted({*names} - PARAMETERS)
    return f"expected parameters of {', '.join(sorted(PARAMETERS))}, got {', '.join(unknown)}" if unknown else ""
