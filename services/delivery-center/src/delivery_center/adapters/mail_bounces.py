"""Hard bounces: the refusals after which further mail to a recipient only costs the sender's reputation."""

import re

CODES = (550, 551, 553)
"""Not 552: a full mailbox may be emptied."""

NO_MAILBOX = ("5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10")
"""Enhanced status codes (RFC 3463, 7505): no such mailbox or domain, no address, moved, takes no mail. The others of
5.1.x concern the sender or leave it open, and 5.7.x is policy: a block list may change."""

_ENHANCED = re.compile(r"\s*(\d\.\d{1,3}\.\d{1,3})\b")
_RECIPIENT = r"(user|mailbox|mail box|recipient|account|address)"
_IN_WORDS = re.compile(
    rf"(no such {_RECIPIENT}|unknown {_RECIPIENT}|{_RECIPIENT} (is )?(unknown|not found|unrout[e]?able)"
    rf"|{_RECIPIENT} does( not|n't) exist"
    rf"|{_RECIPIENT} not local|unrout[e]?able address)",
    re.IGNORECASE,
)
"""For servers that give no enhanced code."""


def is_hard_bounce(code: int, message: str) -> bool:
    """Whether a reply to RCPT means that the mailbox does not exist."""
    if code not in CODES:
        return False
    enhanced = _ENHANCED.match(message)
    return enhanced[1] in NO_MAILBOX if enhanced else _IN_WORDS.search(message) is not None
