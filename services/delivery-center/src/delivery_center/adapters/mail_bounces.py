"""Which refusals of a recipient mean that there is nobody: further mail there only costs the sender's good name."""

import re

CODES = (550, 551, 553)
"""Not 552: a full mailbox may be emptied."""

NOBODY = ("5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10")
"""Enhanced status codes (RFC 3463, 7505): no such mailbox or domain, no address, moved, takes no mail. The others of
5.1.x speak of the sender or leave it open, and 5.7.x is policy: a block list may change its mind."""

_ENHANCED = re.compile(r"\s*(\d\.\d{1,3}\.\d{1,3})\b")
_WHO = r"(user|mailbox|mail box|recipient|account|address)"
_IN_WORDS = re.compile(
    rf"(no such {_WHO}|unknown {_WHO}|{_WHO} (is )?(unknown|not found|unrout[e]?able)|{_WHO} does( not|n't) exist"
    rf"|{_WHO} not local|unrout[e]?able address)",
    re.IGNORECASE,
)
"""For servers that give no enhanced code."""


def is_hard_bounce(code: int, message: str) -> bool:
    """Of an answer to RCPT: is there nobody at this address, for good?"""
    if code not in CODES:
        return False
    enhanced = _ENHANCED.match(message)
    return enhanced[1] in NOBODY if enhanced else _IN_WORDS.search(message) is not None
