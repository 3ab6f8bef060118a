"""Addresses as they may be shown: without what may be a key."""

import re
from urllib.parse import urlsplit

HIDDEN = "…"

_WORD = r"[A-Za-z]?[a-z]{0,15}"
_PLAIN = re.compile(rf"{_WORD}(?:[-_.]{_WORD})*|[A-Za-z0-9_-]{{1,4}}")
"""A word of a language, or too short to be a key."""


def shown_url(url: str) -> str:
    """Scheme, host and path: the query, the fragment and the user are left out, and of the path every part that isn't
    a plain word, as many receivers have their key there (`/services/T00/B00/XXX`)."""
    parts = urlsplit(url)
    path = "/".join(part if _PLAIN.fullmatch(part) else HIDDEN for part in parts.path.split("/"))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
