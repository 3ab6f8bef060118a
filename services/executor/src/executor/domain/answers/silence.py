"""`NO_REPLY`: a model's word that it has nothing to say."""

import re

MARK = "NO_REPLY"
AROUND = r"[\s*_`\"'()\[\]<>.!]*"
BEGINS = re.compile(rf"{AROUND}{MARK}(?!\w)")
ENDS = re.compile(rf"[\s*`\"'(\[<]*(?<!\w){MARK}(?!\w){AROUND}\Z")


def without_mark(text: str) -> tuple[str, bool]:
    """The text to send, and whether there is none: the mark stands alone or begins it. At its end it is cut off."""
    if MARK not in text:
        return text, False
    if BEGINS.match(text):
        return "", True
    last = text.rfind(MARK)
    tail = ENDS.search(text, max(0, last - 20))
    return (text[: tail.start()].rstrip(), False) if tail else (text, False)
