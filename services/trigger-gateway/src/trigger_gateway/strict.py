"""Input that takes no unknown fields: bodies of requests, arguments of tools."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """An unknown field is an error: it is most likely a typo."""

    model_config = ConfigDict(extra="forbid")
