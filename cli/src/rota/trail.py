"""The trail of an execution as lines."""

from collections.abc import Iterator

from rota.timestamps import utc_time
from rota_contracts.messages.run_trail import TrailReply, TrailStep
from rota_contracts.messages.usage import ModelCall


def trail_lines(read: TrailReply) -> Iterator[str]:
    if read.left_out:
        yield f"({read.left_out} earlier steps left out)"
    for step in read.steps:
        took = f"  [{took_text(step.call)}]" if step.call else ""
        yield f"{step.number:>3}  {utc_time(step.at)}  {step.step}{took}"
        yield from _words(step)
        yield from (f"     asked {call.agent}  [{took_text(call)}]" for call in step.asked)
        yield f"     → {step.made or step.outcome}"


def took_text(call: ModelCall) -> str:
    """Model, tokens, seconds and cost of a call."""
    used = call.usage
    if used is None:
        return f"{call.model}, tokens unknown, {call.seconds:g} s"
    cached = f" ({used.tokens_cached} cached)" if used.tokens_cached else ""
    cost = "" if call.cost is None else f", {money_text(call.cost, call.currency)}"
    return f"{call.model}, {used.tokens_in}{cached} + {used.tokens_out} tokens, {call.seconds:g} s{cost}"


def money_text(cost: float, currency: str) -> str:
    """To the cent, and small amounts to the millionth."""
    return f"{cost:.2f} {currency}" if cost >= 1 or not cost else f"{cost:.6f} {currency}"


def _words(step: TrailStep) -> Iterator[str]:
    for name, text in (("thought", step.reasoning), ("wrote", step.wrote), *(("called", call) for call in step.calls)):
        first, *more = text.splitlines() or [""]
        if text:
            yield f"     {name}: {first}"
            yield from (f"       {line}" for line in more)
