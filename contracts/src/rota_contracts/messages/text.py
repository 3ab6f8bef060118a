"""Texts of any length: inline up to 256 KB, above that a reference into the object store."""

from functools import cached_property
from typing import Self

from pydantic import Field, model_validator
from pydantic_core import to_json

from rota_contracts.model import Part

INLINE_LIMIT = 256 * 1024
"""Bytes of JSON. A NATS message holds 1 MB and a MongoDB document 16 MB; outputs add up."""


class BlobRef(Part):
    """A reference to a long text: an object of the NATS object store. In the bucket `deliveries` it is the body of the
    delivery `name`, which the gateway reads out: `GET /v1/teams/{team}/deliveries/{name}/body`."""

    bucket: str
    name: str
    size: int = Field(ge=0, description="bytes of UTF-8")
    sha256: str


class Text(Part):
    """Either `inline` or `ref` is set, never both."""

    inline: str | None = None
    ref: BlobRef | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.inline is None) == (self.ref is None):
            raise ValueError("expected exactly one of inline and ref")
        return self

    @cached_property
    def inline_size(self) -> int:
        """Its bytes in a message, without quotes. Counted once: a long run asks for all its texts at each step."""
        return len(to_json(self.inline)) - 2 if self.inline else 0
