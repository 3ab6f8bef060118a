"""The trace of an execution as a tree of lines."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rota.trail import money_text
from rota_contracts.messages.run_trace import TraceReply, TraceSpan

ERROR_LIMIT = 120


def trace_lines(read: TraceReply) -> Iterator[str]:
    """Kind, name and duration of each span, below the one that it belongs to; then tokens, cost and error."""
    yield f"trace {read.trace_id}"
    placed = [*_placed(read.spans)]
    width = max((2 * depth + len(span.name) for depth, span in placed), default=0) + 2
    for depth, span in placed:
        name = "  " * depth + span.name
        seconds = (span.ended_at - span.started_at).total_seconds()
        more = ", ".join(filter(None, (_tokens(span), _cost(span))))
        error = f"✗ {' '.join(span.error.split())[:ERROR_LIMIT]}" if span.error is not None else ""
        yield f"{span.kind:<9} {name:<{width}} {seconds:>8.3f} s  {'  '.join(filter(None, (more, error)))}".rstrip()
    if read.left_out:
        yield f"({read.left_out} further spans left out)"


def _placed(spans: Sequence[TraceSpan]) -> Iterator[tuple[int, TraceSpan]]:
    """Each span with its depth, in the order of time; a span whose parent isn't here stands at the top."""
    known = {span.span_id for span in spans}
    below: dict[str, list[TraceSpan]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: (span.started_at, span.span_id)):
        below[span.parent_id if span.parent_id in known else ""].append(span)
    left = [(0, span) for span in reversed(below.pop("", []))]
    while left:
        depth, span = left.pop()
        yield depth, span
        left += [(depth + 1, each) for each in reversed(below.pop(span.span_id, []))]


def _tokens(span: TraceSpan) -> str:
    used = [span.attributes.get(f"gen_ai.usage.{name}_tokens") for name in ("input", "output")]
    return f"{used[0]} + {used[1]} tokens" if None not in used else ""


def _cost(span: TraceSpan) -> str:
    own = {str(span.attributes.get("rota.currency")): span.attributes.get("rota.cost")}
    sums = {name.rpartition(".")[2]: cost for name, cost in span.attributes.items() if name.startswith("rota.cost.")}
    return ", ".join(money_text(float(cost), currency) for currency, cost in (own | sums).items() if cost is not None)
