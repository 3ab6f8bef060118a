"""A skill as its team writes it: a `SKILL.md` of the open format Agent Skills, and the files beside it."""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from rota_contracts.model import Part

DESCRIPTION_LIMIT, TEXT_LIMIT, FILES = 1_024, 100_000, 50
"""Characters of a description, of a text, and how many files a skill may have."""

SKILL_FILE = "SKILL.md"

NAME_LIMIT = 64
SKILL_NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
NAME_EXPECTED = f"lowercase letters, digits and single hyphens between them, at most {NAME_LIMIT}"
SkillName = Annotated[str, StringConstraints(pattern=SKILL_NAME, max_length=NAME_LIMIT)]

LEVELS = 4
"""Of a file's path."""

SKILL_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*){0,3}$"
SkillPath = Annotated[str, StringConstraints(pattern=SKILL_PATH, max_length=200)]
"""Of a file below the skill's folder, like `references/prices.md`."""


def name_problem(name: str) -> str:
    """What is expected in place of this name of a skill; empty for one that can be."""
    fits = len(name) <= NAME_LIMIT and re.fullmatch(SKILL_NAME, name) is not None
    return "" if fits else f"expected the name of a skill ({NAME_EXPECTED}), got {name[:100]!r}"


def _as_text(given: Any) -> Any:
    """YAML reads `version: 1.0` as a number; the format has texts alone."""
    return str(given).lower() if isinstance(given, bool) else str(given) if isinstance(given, int | float) else given


class SkillDefinition(Part):
    """`text` is the body of `SKILL.md`; `files` are the others, by their paths. `allowed-tools` grants nothing here: it
    is kept for those who read it."""

    description: Annotated[str, StringConstraints(min_length=1, max_length=DESCRIPTION_LIMIT)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=TEXT_LIMIT)]
    files: dict[SkillPath, Annotated[str, StringConstraints(max_length=TEXT_LIMIT)]] = Field(
        default={}, max_length=FILES
    )
    license: Annotated[str, StringConstraints(max_length=500)] = ""
    compatibility: Annotated[str, StringConstraints(max_length=500)] = ""
    metadata: dict[str, Annotated[str, BeforeValidator(_as_text)]] = Field(default={}, max_length=50)
    allowed_tools: str = Field(default="", max_length=2_000, alias="allowed-tools")
