"""Mail addresses as people write them: `ann@example.org` or `Ann <ann@example.org>`."""

import re
from email.headerregistry import Address

_SPEC = r"[^@\s<>,;:]+@[^@\s<>,;:]+"
_ADDRESS = re.compile(rf"(?P<name>[^<>\r\n]*)<(?P<named>{_SPEC})>|(?P<bare>{_SPEC})")


def parse_address(text: str) -> Address:
    """One address. Raises ValueError for anything else."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"expected one address like ann@example.org, not {text!r}")
    try:
        return Address((match["name"] or "").strip(' "'), addr_spec=match["named"] or match["bare"])
    except Exception as error:  # the parser of the standard library raises more than ValueError
        raise ValueError(f"expected one address like ann@example.org, not {text!r}: {error}") from error
