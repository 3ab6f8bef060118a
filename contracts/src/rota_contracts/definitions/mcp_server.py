"""An MCP server as its team writes it: somewhere else, over HTTP, with secrets of the team."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from rota_contracts.model import Part
from rota_contracts.secret_refs import is_reference

HEADERS = 20
TOOLS = 200


def _web_or_secret(text: str) -> str:
    if not text.startswith(("https://", "http://")) and not is_reference(text):
        raise ValueError("expected an address that begins with https:// or http://, or $SECRET.NAME")
    return text


class McpServerDefinition(Part):
    """`timeout`: seconds of one call. `headers`: values that are secrets as `$SECRET.NAME`, whole.

    `idempotent`: the team's declaration for its tools: all (true), none (false), or these; null = the server's own.
    `repeatable`: of which the same call makes sense twice in a turn.
    """

    label: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    url: Annotated[str, StringConstraints(max_length=2_000), AfterValidator(_web_or_secret)]
    headers: dict[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,100}$")], Annotated[str, Field(max_length=2_000)]
    ] = Field(default={}, max_length=HEADERS)
    timeout: float = Field(default=60.0, gt=0, le=3600)
    idempotent: bool | Annotated[list[str], Field(max_length=TOOLS)] | None = None
    repeatable: bool | Annotated[list[str], Field(max_length=TOOLS)] = False
