"""A skill as its team writes it: a `SKILL.md` of the open format Agent Skills, and the files beside it."""

from typing import Annotated

from pydantic import Field, StringConstraints

from rota_contracts.model import Part

DESCRIPTION_LIMIT, TEXT_LIMIT, FILES = 1_024, 100_000, 50
"""Characters of a description, of a text, and how many files a skill may have."""

SKILL_FILE = "SKILL.md"

SKILL_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*){0,3}$"
SkillPath = Annotated[str, StringConstraints(pattern=SKILL_PATH, max_length=200)]
"""Of a file below the skill's folder, like `references/prices.md`."""


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
    metadata: dict[str, str] = Field(default={}, max_length=50)
    allowed_tools: str = Field(default="", max_length=2_000, alias="allowed-tools")
