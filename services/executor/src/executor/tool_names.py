"""What a tool of an MCP server is called towards a model: `<server>__<tool>`, in the characters that models allow."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

LIMIT = 64
UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def model_names(tools: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(server, tool) → its name: letters, digits, _ and -, at most 64, and no two the same.

    A name that would be too long, or that two of them would have, ends in a hash of what it stands for: so it depends
    on no order, and is the same each time the tools are listed.
    """
    plain = {key: UNSAFE.sub("_", f"{key[0]}__{key[1]}") for key in tools}
    count = Counter(plain.values())
    return {key: name if len(name) <= LIMIT and count[name] == 1 else _hashed(key, name) for key, name in plain.items()}


def _hashed(key: tuple[str, str], name: str) -> str:
    ending = hashlib.sha256("\0".join(key).encode()).hexdigest()[:8]
    return f"{name[: LIMIT - len(ending) - 1]}_{ending}"
