"""Pieces of an answer while its model writes it: only what is sure to stand in the answer as it is delivered."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from executor.domain.answers.sanitise import collapse_repeated_blocks
from rota_common.redaction import forms, hides_nothing

LEAST, MOST = 80, 2_000
"""Characters of a piece; the last one may be shorter."""

UNDECIDED = re.compile(r"<|\[|\{|◁|```|NO_REPLY|-----BEGIN", re.IGNORECASE)
"""The beginnings of what may be taken out of an answer: tags, calls, marks, keys."""

LONGEST = 100_000
"""Characters of a text that are looked at while it is written; the rest of a longer one comes at its end."""

BOUNDARY = re.compile(r"\n|[.!?](?=\s)")
LOOSE = " \t\r\n*_`\"'()"
"""Characters that go if nothing follows them."""


@dataclass
class Pieces:
    """The text so far, and how much of it was sent. `known`: secrets that no piece may hold."""

    text: str = ""
    known: Collection[str] = field(default=(), kw_only=True)
    sent: str = field(default="", init=False)
    _held: bool = field(default=False, init=False)

    def feed(self, more: str) -> list[str]:
        """The pieces that `more` makes ready. Only a new boundary can make one, and nothing after what is undecided."""
        if self._held:
            return []
        self.text = (self.text + more).lstrip() if not self.sent else self.text + more
        new = max(0, len(self.text) - len(more) - 1)
        if len(self.text) - len(self.sent) < LEAST or BOUNDARY.search(self.text, new) is None:
            return []
        ready = self._sure()
        return [*self._cut(ready)] if len(ready) - len(self.sent) >= LEAST else []

    def end(self, answer: str) -> list[str] | None:
        """The rest of the whole answer; None if what was sent isn't its beginning."""
        if not answer.startswith(self.sent):
            return None
        return [*self._cut(answer)] if hides_nothing(answer, self.known) else []

    def _cut(self, ready: str) -> Iterator[str]:
        while len(self.sent) < len(ready):
            piece = ready[len(self.sent) : len(self.sent) + MOST]
            self.sent += piece
            yield piece

    def _sure(self) -> str:
        """The beginning of the text that nothing which follows can change."""
        undecided = UNDECIDED.search(self.text)
        self._held = undecided is not None or len(self.text) > LONGEST
        known = self.text[: undecided.start()] if undecided else self.text
        ends = [found.end() for found in BOUNDARY.finditer(known)]
        sure = known[: ends[-1]].rstrip(LOOSE) if ends else ""
        sure = _without_repeats(sure).rstrip(LOOSE)
        return sure if hides_nothing(sure, self.known) and not self._begins(sure) else self.sent

    def _begins(self, sure: str) -> bool:
        """Does it end with the beginning of a known secret, however it is written, whose rest is still to come?"""
        written = {form for value in self.known for form in (value, *forms(value))}
        lengths = ((form, min(len(form), len(sure) + 1)) for form in written)
        return any(sure.endswith(form[:size]) for form, most in lengths for size in range(2, most))


def _without_repeats(text: str) -> str:
    """Each paragraph once. The last one waits while it may become a repeat of the one before it."""
    before, gap, last = text.rpartition("\n\n")
    previous = before.rpartition("\n\n")[2].strip()
    return collapse_repeated_blocks(before if gap and previous.startswith(last.strip()) else text)
