"""The trace of an execution as a waterfall: each span's place in the time from the trigger to the last delivery."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime

from rota.trail import money_text
from rota_contracts.messages.run_trace import STAGE, Stage, TraceReply, TraceSpan

LABEL, BARS, GAP = 30, (10, 60), 2
"""Columns of a span's kind and name at most, of bars at least and at most, and between two cells."""

WAITING = (Stage.QUEUE, Stage.PARKED)


@dataclass(frozen=True)
class Signs:
    """The signs of a picture: bars of work and of waiting, a failure, and the end of a text that is cut."""

    works: str
    waits: str
    failed: str
    cut: str


UNICODE, PLAIN = Signs("█", "░", "✗", "…"), Signs("#", ".", "x", "~")


def signs_for(encoding: str | None) -> Signs:
    """`PLAIN` where the output's encoding has no others."""
    try:
        "".join(astuple(UNICODE)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return UNICODE


@dataclass(frozen=True)
class Row:
    """One span below another. `begins` and `lasts` in seconds, from the first span's beginning on."""

    depth: int
    kind: str
    name: str
    begins: float
    lasts: float
    tokens: str
    cost: str
    error: str

    @property
    def waits(self) -> bool:
        return self.kind in WAITING

    @property
    def label(self) -> str:
        return f"{' ' * self.depth}{self.kind} {self.name}".rstrip()

    @property
    def style(self) -> str:
        return "red" if self.error else "dim" if self.waits else ""


def rows_of(read: TraceReply) -> list[Row]:
    start = min((span.started_at for span in read.spans), default=None)
    return [] if start is None else [_row(span, depth, start) for depth, span in _placed(read.spans)]


def whole_of(rows: Sequence[Row]) -> float:
    """Seconds from the trigger to the end of the last span."""
    return max((row.begins + row.lasts for row in rows), default=0.0)


def trace_lines(read: TraceReply, *, width: int, signs: Signs = UNICODE) -> Iterator[tuple[str, str]]:
    """Lines with their styles: a bar for each span, and its seconds, tokens and cost; below it its error. `width`: 60
    columns or more."""
    rows = rows_of(read)
    whole = whole_of(rows)
    yield f"trace {read.trace_id}", ""
    numbers = [(f"{row.lasts:.3f}", row.tokens, row.cost) for row in rows]
    heads = ("SECONDS", "TOKENS", "COST")
    widths = [max(map(len, column)) for column in zip(heads, *numbers, strict=True)]
    room = width - sum(widths) - GAP * (len(widths) + 1)
    label = min(max([len(row.label) for row in rows], default=0), LABEL, room - BARS[0])
    bars = min(room - label, BARS[1])
    yield _line("SPAN", label, _scale(whole, bars), heads, widths), "bold"
    for row, shown in zip(rows, numbers, strict=True):
        yield _line(_cut(row.label, label, signs), label, _bar(row, whole, bars, signs), shown, widths), row.style
        if row.error:
            yield _cut(f"{' ' * (row.depth + 1)}{signs.failed} {row.error}", width, signs), row.style
    if read.left_out:
        yield f"({read.left_out} further spans left out)", ""


def _row(span: TraceSpan, depth: int, start: datetime) -> Row:
    """The first word of a span's name says its kind again."""
    return Row(
        depth=depth,
        kind=str(span.attributes.get(STAGE, span.kind)),
        name=span.name.partition(" ")[2],
        begins=(span.started_at - start).total_seconds(),
        lasts=(span.ended_at - span.started_at).total_seconds(),
        tokens=_tokens(span),
        cost=_cost(span),
        error=" ".join((span.error or "").split()) or ("failed" if span.error is not None else ""),
    )


def _placed(spans: Sequence[TraceSpan]) -> Iterator[tuple[int, TraceSpan]]:
    """Each span with its depth, in the order of time; a span whose parent isn't here stands at the top."""
    known = {span.span_id for span in spans}
    below: dict[str, list[TraceSpan]] = defaultdict(list)
    for span in sorted(spans, key=lambda span: span.started_at):
        below[span.parent_id if span.parent_id in known else ""].append(span)
    left = [(0, span) for span in reversed(below.pop("", []))]
    while left:
        depth, span = left.pop()
        yield depth, span
        left += [(depth + 1, each) for each in reversed(below.pop(span.span_id, []))]


def _line(label: str, width: int, bar: str, numbers: Sequence[str], widths: Sequence[int]) -> str:
    cells = [number.rjust(wide) for number, wide in zip(numbers, widths, strict=True)]
    return (" " * GAP).join([label.ljust(width), bar, *cells]).rstrip()


def _scale(whole: float, width: int) -> str:
    end = f"{whole:.3g} s"
    return f"0{end:>{width - 1}}"


def _bar(row: Row, whole: float, width: int, signs: Signs) -> str:
    """At least one column, within the width."""
    scale = width / whole if whole else 0.0
    begins = min(int(row.begins * scale), width - 1)
    ends = max(round((row.begins + row.lasts) * scale), begins + 1)
    sign = signs.waits if row.waits else signs.works
    return (" " * begins + sign * (ends - begins)).ljust(width)


def _cut(text: str, width: int, signs: Signs) -> str:
    return text if len(text) <= width else text[: width - 1] + signs.cut


def _tokens(span: TraceSpan) -> str:
    used = [span.attributes.get(f"gen_ai.usage.{name}_tokens") for name in ("input", "output")]
    return f"{used[0]}+{used[1]}" if any(used) else ""


def _cost(span: TraceSpan) -> str:
    own = {str(span.attributes.get("rota.currency")): span.attributes.get("rota.cost")}
    sums = {name.rpartition(".")[2]: cost for name, cost in span.attributes.items() if name.startswith("rota.cost.")}
    return ", ".join(money_text(float(cost), currency) for currency, cost in (own | sums).items() if cost is not None)
