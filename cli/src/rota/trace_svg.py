"""The trace of an execution as an SVG picture, for a page or a report."""

from html import escape

from rota.trace import Row, rows_of, whole_of
from rota_contracts.messages.run_trace import TraceReply

LINE, LABELS, BARS, NUMBERS = 20, 300, 460, 240
"""Pixels: the height of a line, and the widths of the three columns."""

COLOURS = {"model": "#8250df", "tool": "#bf8700", "delivery": "#1a7f37", "validation": "#0969da"}
STAGE, WAITING, FAILED, TEXT = "#6e7781", "#d0d7de", "#cf222e", "#57606a"


def trace_svg(read: TraceReply) -> str:
    """A line for each span; its error shows where a pointer rests on it."""
    rows = rows_of(read)
    whole = whole_of(rows)
    width, height = LABELS + BARS + NUMBERS, LINE * (len(rows) + 2)
    lines = [_line(row, number, whole) for number, row in enumerate(rows, start=1)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="monospace" '
            f'font-size="12" fill="{TEXT}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            _text(8, 0, f"trace {read.trace_id}, {whole:.3f} s"),
            *lines,
            "</svg>\n",
        ]
    )


def _line(row: Row, number: int, whole: float) -> str:
    scale = BARS / whole if whole else 0.0
    left, wide = LABELS + row.begins * scale, max(row.lasts * scale, 1.5)
    colour = FAILED if row.error else WAITING if row.waits else COLOURS.get(row.kind, STAGE)
    numbers = "  ".join(filter(None, (f"{row.lasts:.3f} s", row.tokens, row.cost)))
    return (
        f"<g><title>{escape(row.error or row.label.strip())}</title>"
        f'<rect x="{left:.1f}" y="{number * LINE + 4}" width="{wide:.1f}" height="{LINE - 6}" fill="{colour}"/>'
        f"{_text(8 + 12 * row.depth, number, row.label.strip()[:38])}{_text(LABELS + BARS + 8, number, numbers)}</g>"
    )


def _text(x: int, number: int, text: str) -> str:
    return f'<text x="{x}" y="{number * LINE + 14}" xml:space="preserve">{escape(text)}</text>'
