"""The commands of the README: blocks marked `sh`, by section; `sh own-terminal` marks what goes on by itself."""

import re
from dataclasses import dataclass

PARTS = re.compile(r"^## (?P<section>.+)$|^```(?P<kind>.*)\n(?P<commands>(?:.*\n)*?)```$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    section: str
    commands: str
    own_terminal: bool


def blocks(readme: str) -> list[Block]:
    """The blocks that a newcomer types in, in their order. Blocks without a mark show commands with gaps to fill."""
    found, section = [], ""
    for part in PARTS.finditer(readme):
        section = part["section"] or section
        if part["kind"] in ("sh", "sh own-terminal"):
            found.append(Block(section, part["commands"], own_terminal=part["kind"] != "sh"))
    return found
