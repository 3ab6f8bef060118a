"""The front matter of a text in Markdown: YAML between two lines of `---` at the very top."""

FENCE = "---"


def halves(text: str) -> tuple[str, str] | None:
    """The YAML, and what stands below it; None for a text without a front matter. Raises ValueError for one without an
    end: what it says follows the name of the front matter."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines) if line.rstrip() == FENCE]
    if not fences or fences[0] != 0:
        return None
    if len(fences) == 1:
        raise ValueError(f"has no end: expected a second line {FENCE}")
    return "".join(lines[1 : fences[1]]), "".join(lines[fences[1] + 1 :])
