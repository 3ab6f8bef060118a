"""Leads: each webhook is about one; its name is unique and travels wherever the execution goes."""

import re

_LEAD = re.compile(rb"lead-\d{5}")


def lead(number: int) -> str:
    return f"lead-{number:05d}"


def lead_in(raw: bytes) -> str:
    """The lead that a message names; ValueError if there is none: its execution would be unknown."""
    found = _LEAD.search(raw)
    if found is None:
        raise ValueError(f"expected a lead like {lead(1)} in the message, found none: {raw[:300]!r}")
    return found[0].decode()
